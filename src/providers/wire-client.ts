import type { OnProgress } from '../core/calls/completion.ts'
import { attemptFailure } from '../core/failover/attempt-failure.ts'
import { type AttemptEnd, type AttemptRequest, NOTHING_PRODUCED, type ProviderClient } from './provider.ts'
import type { RegistryOptions } from './registry.ts'
import { ResponseReader } from './response-reader.ts'
import type { WireMapping } from './wire-mapping.ts'

/** The client of a wire: looks up the key, sends the request and reads the answer. */
export function createWireClient(wire: WireMapping, options: RegistryOptions): ProviderClient {
  const { transport, environment, connectTimeoutMs, now } = options
  return {
    attempt(request: AttemptRequest, onProgress: OnProgress): Promise<AttemptEnd> {
      const { apiKeyEnv } = request.offer.provider
      const ours = apiKeyEnv === null ? null : (environment[apiKeyEnv]?.trim() ?? '')
      const apiKey = request.apiKey ?? ours
      // Without our key a provider could only refuse; the offer is marked down as if it had.
      if (apiKey === '') return Promise.resolve(withoutKey())
      return new Promise((resolve, reject) => {
        const reader = new ResponseReader({
          wire,
          answer: wire.openAnswer(request),
          onProgress,
          now,
          resolve,
          reject,
        })
        reader.exchange = transport.post(
          {
            ...wire.request(request, apiKey),
            limits: { ...request.limits, connectMs: connectTimeoutMs },
            signal: request.signal,
            accountId: request.accountId,
          },
          reader,
        )
      })
    },
  }
}

const withoutKey = (): AttemptEnd => ({
  result: {
    kind: 'failed',
    failure: attemptFailure('refused', 'no key for this provider in the environment'),
  },
  httpStatus: null,
  firstTokenAt: null,
  malformedEvents: 0,
  produced: NOTHING_PRODUCED,
})
