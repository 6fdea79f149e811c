import { WIRES, type Wire } from '../core/catalog/catalog.ts'
import { attemptFailure } from '../core/failover/attempt-failure.ts'
import * as anthropicErrors from './anthropic-messages/error-map.ts'
import * as anthropicRequest from './anthropic-messages/request.ts'
import { MessagesReader } from './anthropic-messages/stream.ts'
import * as chatErrors from './chat-completions/error-map.ts'
import * as chatRequest from './chat-completions/request.ts'
import { readStreamEvent, readWholeReply } from './chat-completions/stream.ts'
import * as googleErrors from './google-generate-content/error-map.ts'
import * as googleRequest from './google-generate-content/request.ts'
import { GenerateContentReader } from './google-generate-content/stream.ts'
import type { Transport } from './http/transport.ts'
import type { CompletionReader, WireMapping } from './provider.ts'
import { type AttemptEnd, NOTHING_PRODUCED, type ProviderClient } from './provider.ts'
import { requestHeaders } from './request-parts.ts'
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

/** Events of this wire stand for themselves, so that one reader serves every completion. */
const CHAT_COMPLETIONS_READER: CompletionReader = { event: readStreamEvent, whole: readWholeReply }

const MAPPINGS: Record<Wire, WireMapping> = {
  'chat-completions': {
    request: (request, apiKey) => ({
      url: chatRequest.requestUrl(request),
      headers: requestHeaders(request.offer.provider, apiKey, 'authorization'),
      body: chatRequest.requestBody(request),
    }),
    openReader: () => CHAT_COMPLETIONS_READER,
    failureOfStatus: chatErrors.failureOfStatus,
    failureOfErrorObject: chatErrors.failureOfErrorObject,
  },
  'anthropic-messages': {
    request: (request, apiKey) => ({
      url: anthropicRequest.requestUrl(request),
      headers: [
        ...requestHeaders(request.offer.provider, apiKey, 'x-api-key'),
        'anthropic-version',
        anthropicRequest.ANTHROPIC_VERSION,
      ],
      body: anthropicRequest.requestBody(request),
    }),
    openReader: (request) => new MessagesReader(anthropicRequest.prefillSpace(request)),
    failureOfStatus: anthropicErrors.failureOfStatus,
    failureOfErrorObject: anthropicErrors.failureOfErrorObject,
  },
  'google-generate-content': {
    request: (request, apiKey) => ({
      url: googleRequest.requestUrl(request),
      headers: requestHeaders(request.offer.provider, apiKey, 'x-goog-api-key'),
      body: googleRequest.requestBody(request),
    }),
    openReader: () => new GenerateContentReader(),
    failureOfStatus: googleErrors.failureOfStatus,
    failureOfErrorObject: googleErrors.failureOfErrorObject,
  },
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
