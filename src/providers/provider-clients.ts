import { WIRES, type Wire } from '../core/catalog/catalog.ts'
import { attemptFailure } from '../core/failover/attempt-failure.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { chatCompletions } from './chat-completions.ts'
import { googleGenerateContent } from './google-generate-content.ts'
import type { Transport } from './http/transport.ts'
import { type AttemptEnd, NOTHING_PRODUCED, type ProviderClient, type WireMapping } from './provider.ts'
import { ResponseReader } from './response-reader.ts'

/** The client for each wire a provider can speak. */
export type ProviderClients = (wire: Wire) => ProviderClient

export interface ProviderClientOptions {
  transport: Transport
  /** Where providers' keys are looked up by name. */
  environment: Readonly<Record<string, string | undefined>>
  connectTimeoutMs: number
  /** Unix milliseconds. */
  now: () => number
}

const MAPPINGS: Record<Wire, WireMapping> = {
  'chat-completions': chatCompletions,
  'anthropic-messages': anthropicMessages,
  'google-generate-content': googleGenerateContent,
}

export function createProviderClients(options: ProviderClientOptions): ProviderClients {
  const clients = new Map<Wire, ProviderClient>()
  for (const wire of WIRES) clients.set(wire, createClient(MAPPINGS[wire], options))
  return (wire) => clients.get(wire)!
}

/** Looks up the key, sends the request and reads the response. */
function createClient(wire: WireMapping, options: ProviderClientOptions): ProviderClient {
  const { transport, environment, connectTimeoutMs, now } = options
  return {
    attempt(request, onProgress) {
      const { apiKeyEnv } = request.offer.provider
      const ours = apiKeyEnv === null ? null : (environment[apiKeyEnv]?.trim() ?? '')
      const apiKey = request.apiKey ?? ours
      // Without our key a provider could only refuse; the offer is marked down as if it had.
      if (apiKey === '') return Promise.resolve(WITHOUT_KEY)
      const { signal, accountId } = request
      const limits = { ...request.limits, connectMs: connectTimeoutMs }
      return new Promise((resolve, reject) => {
        const answer = wire.openReader(request)
        transport.post(
          { ...wire.request(request, apiKey), limits, signal, accountId },
          (exchange) => new ResponseReader({ wire, answer, exchange, onProgress, now, resolve, reject }),
        )
      })
    },
  }
}

const WITHOUT_KEY: AttemptEnd = {
  result: {
    kind: 'failed',
    failure: attemptFailure('refused', 'no key for this provider in the environment'),
  },
  httpStatus: null,
  firstTokenAt: null,
  malformedEvents: 0,
  produced: NOTHING_PRODUCED,
}
