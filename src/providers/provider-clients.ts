import { Readable } from 'node:stream'
import { Client, Pool } from 'undici'
import { type AttemptOutcome, unsentAttempt } from '../core/calls/attempt-outcome.ts'
import { withMarkedMedia } from '../core/calls/call-body.ts'
import { type Provider, WIRES, type Wire } from '../core/catalog/catalog.ts'
import { secretsIn } from '../core/catalog/provider-credentials.ts'
import { attemptFailure } from '../core/failover/attempt-failure.ts'
import { safeProviderMessage, textsOf } from '../core/failover/provider-message.ts'
import { withoutLoneSurrogates } from '../core/json/json-text.ts'
import type { BodyStore } from '../platform/body-store/body-store.ts'
import { CredentialsFailure } from './credentials/credentials-failure.ts'
import { Exchange, type ResponseReceiver, type TransportRequest } from './http/exchange.ts'
import { formStream } from './http/form-body.ts'
import { ReadingTurns } from './http/reading-turns.ts'
import { watchReuse } from './http/reused-connections.ts'
import { wireFor } from './kinds/provider-kinds.ts'
import { ResponseFiles } from './response-files.ts'
import { ResponseReader } from './response-reader.ts'
import type { AttemptRequest, ProviderClient, Sign, WireMapping, WireRequest } from './wire.ts'

export type ProviderClients = (wire: Wire) => ProviderClient

interface ProviderClientOptions {
  wires: Record<Wire, WireMapping>
  transport: Pick<Transport, 'post'>
  /** Our first key at a provider that requires one; null if there is none. */
  ourKey: (provider: Provider) => string | null
  /** All our keys at a provider, which no message may contain. Absent: the one that is sent. */
  ourSecrets?: (provider: Provider) => readonly string[]
  /** Signs what is sent to providers with credentials. */
  sign: Sign
  /** Where the files of calls are. Absent: no call makes or reads any. */
  files?: Pick<BodyStore, 'put' | 'open'>
  connectTimeoutMs: number
  /** Unix milliseconds. */
  now: () => number
}

export function createProviderClients(options: ProviderClientOptions): ProviderClients {
  const clients = new Map<Wire, ProviderClient>()
  for (const wire of WIRES) clients.set(wire, createClient(options.wires[wire], options))
  return (wire) => clients.get(wire)!
}

/** Looks up the key, sends the request and reads the response. */
function createClient(ofChats: WireMapping, options: ProviderClientOptions): ProviderClient {
  const { transport, ourKey, connectTimeoutMs, now, sign } = options
  return {
    attempt(request, onProgress) {
      const { provider } = request.offer
      const apiKey = request.apiKey ?? ourKey(provider)
      // Without our key a provider would refuse the request, so that the offer is treated as refused.
      if (apiKey === null && provider.apiKeyEnv !== null) return Promise.resolve(WITHOUT_KEY)
      const { signal, accountId, convert = (run) => run() } = request
      const { credentials } = provider
      return new Promise((resolve, reject) => {
        const unsigned = convert(() => converted(request, credentials ? null : apiKey, ofChats))
        const settle = (outcome: AttemptOutcome) =>
          resolve(withSafeMessage(outcome, request, apiKey, options))
        const begun = now()
        const send = ({ body, openDecoder, ...sent }: WireRequest) => {
          const { wire, answer } = unsigned
          const totalMs = request.limits.totalMs - (now() - begun)
          transport.post(
            {
              ...sent,
              body:
                typeof body === 'string' || Buffer.isBuffer(body)
                  ? body
                  : formStream(body, storeOf(options).open, reject),
              limits: { ...request.limits, connectMs: connectTimeoutMs, totalMs },
              ...{ signal, accountId },
            },
            (exchange) =>
              new ResponseReader({
                files:
                  answer.files && new ResponseFiles(answer.files, ownedFiles(request, options), exchange),
                ...{ wire, answer, exchange, openDecoder, onProgress, now, resolve: settle, reject },
                onNearLimit: request.onNearLimit,
              }),
          )
        }
        if (!credentials) return send(unsigned.request)
        sign(unsigned.request, apiKey, credentials)
          .then(send)
          .catch((error: unknown) => {
            if (!(error instanceof CredentialsFailure)) return reject(error)
            const { kind, message, httpStatus } = error
            settle(unsentAttempt(attemptFailure(kind, message, { httpStatus })))
          })
      })
    },
  }
}

/** All that is made of a request before it is sent. */
function converted(request: AttemptRequest, apiKey: string | null, ofChats: WireMapping) {
  const { value: content, restore } = withMarkedMedia(request.content)
  const wire = wireFor({ ...request, content }, ofChats)
  const answer = wire.openReader()
  const { body, ...sent } = wire.request(apiKey)
  return {
    wire,
    answer,
    request: {
      ...sent,
      body:
        typeof body === 'string'
          ? restore(withoutLoneSurrogates(body))
          : Buffer.isBuffer(body)
            ? restore(body)
            : body,
    },
  }
}

/** The outcome of an attempt with as much of its provider's message as may be kept. */
function withSafeMessage(
  outcome: AttemptOutcome,
  request: AttemptRequest,
  apiKey: string | null,
  { ourSecrets = () => [] }: Pick<ProviderClientOptions, 'ourSecrets'>,
): AttemptOutcome {
  if (outcome.kind !== 'failed' || outcome.failure.providerMessage === null) return outcome
  const { offer } = request
  const { kind: _, ...content } = request.content
  const providerMessage = safeProviderMessage(outcome.failure.providerMessage, {
    secrets: [...(apiKey === null ? [] : [apiKey]), ...ourSecrets(offer.provider)].flatMap((secret) =>
      secretsIn(secret, offer.provider.credentials?.kind),
    ),
    targets: [offer.upstreamModel, new URL(offer.provider.baseUrl).hostname],
    request: textsOf([content]),
  })
  return { ...outcome, failure: { ...outcome.failure, providerMessage } }
}

function ownedFiles({ accountId, callId }: AttemptRequest, options: ProviderClientOptions) {
  if (!callId) throw new Error('files were sent without a call')
  return { store: storeOf(options), owner: { accountId, callId } }
}

function storeOf({ files }: ProviderClientOptions): NonNullable<ProviderClientOptions['files']> {
  if (!files) throw new Error('files were sent by a client without a store')
  return files
}

const WITHOUT_KEY = unsentAttempt(attemptFailure('refused', 'no key for this provider'))

export type Transport = ReturnType<typeof createTransport>

const MAX_POOLS = 512
/**
 * How long a connection without requests is kept, unless its server says less: a client that calls every few seconds need
 * not dial each time. Servers close idle ones after a minute, or say or do so earlier.
 */
const IDLE_CONNECTION_MS = 30_000
/** Added to the time of a dial, so that a process that was delayed can still notice that it connected. */
const DIAL_SLACK_MS = 2_000

/**
 * HTTP to the providers: a pool of kept connections per origin. The deadlines, bounds and failures of one request are
 * in exchange.ts. The only file that imports undici.
 *
 * A pool has no limit of its own: the worker's concurrency bounds its requests. A request is dialled or sent at once,
 * so that its connect limit measures the provider and not a queue of the gateway.
 */
export function createTransport({ connectTimeoutMs }: { connectTimeoutMs: number }) {
  const pools = new Map<string, Pool>()
  const targets = new Map<string, { pool: Pool; path: string }>()
  const turns = new ReadingTurns()
  const connectionOptions = {
    // The gateway's own deadlines, one timer per attempt, are finer than those of the client and expire first.
    connectTimeout: 2 * connectTimeoutMs + DIAL_SLACK_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false as const,
    keepAliveTimeout: IDLE_CONNECTION_MS,
  }

  const poolOf = (origin: string): Pool => {
    let pool = pools.get(origin)
    if (!pool) {
      if (pools.size >= MAX_POOLS) retireOldest()
      pool = new Pool(origin, { connections: null, ...connectionOptions })
      pools.set(origin, pool)
    }
    return pool
  }
  const retireOldest = (): void => {
    const [origin, pool] = pools.entries().next().value!
    pools.delete(origin)
    for (const [url, target] of targets) if (target.pool === pool) targets.delete(url)
    // A closing pool finishes its requests, which receive any error.
    pool.close().catch(() => pool.destroy())
  }
  const targetOf = (url: string) => {
    let target = targets.get(url)
    if (!target) {
      const { origin, pathname, search } = new URL(url)
      target = { pool: poolOf(origin), path: pathname + search }
      targets.set(url, target)
    }
    return target
  }

  return {
    /** `receive` makes the response's receiver; it is called at once. */
    post(request: TransportRequest, receive: (exchange: Exchange) => ResponseReceiver): void {
      const { pool, path } = targetOf(request.url)
      const exchange = new Exchange(request, receive, turns)
      if (!exchange.isOpen) return
      const sent = { path, method: 'POST' as const, headers: request.headers, body: request.body }
      if (request.body instanceof Readable) {
        pool.dispatch(sent, exchange)
        return
      }
      const isReused = watchReuse(() => pool.dispatch(sent, exchange))
      exchange.link({
        isReused,
        resend() {
          const client = new Client(new URL(request.url).origin, connectionOptions)
          client.dispatch(sent, exchange)
          // Closes after the response.
          client.close().catch(() => client.destroy())
        },
      })
    },
    async close(): Promise<void> {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
      pools.clear()
      targets.clear()
    },
  }
}
