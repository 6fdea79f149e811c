import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { SIMULATED_UPSTREAM_MODELS } from '../../src/catalog/simulated-catalog.ts'
import { activeFault, type Behaviour, parseBehaviour } from './behaviour.ts'
import { createCloudAccess } from './clouds/cloud-access.ts'
import { composeCompletion } from './completion.ts'
import { createKeyLimits } from './key-limits.ts'
import { playResponse } from './play-response.ts'
import { createPrefixCaches } from './prefix-caches.ts'
import { createRequestLog, type RecordedRequest } from './request-log.ts'
import { planResponse, planWhole, type ResponseFrame, type Step } from './response-plan.ts'
import { type Route, routeOf } from './route-of.ts'
import type { SimulatedRequest } from './simulated-request.ts'
import type { Refusal, SimulatedWire } from './simulated-wire.ts'
import { readTaskInput, type TaskContext } from './tasks/simulated-task.ts'
import { CHAT_COMPLETIONS } from './wires/chat-completions.ts'

export type SimulatedProviders = Awaited<ReturnType<typeof startSimulatedProviders>>

const DEFAULT_RECORDED_REQUESTS = 1_000
const MAX_COUNTED_MODELS = 10_000

/**
 * Starts HTTP providers that speak any of the wires, many in one server: the first part of the path names the
 * provider (`/alpha/v1`, `/beta/v1`, any name of lowercase letters and digits), the rest the wire, the model's
 * name how it behaves. Their text and usage are a pure function of the prompt.
 */
export async function startSimulatedProviders(
  options: {
    /** 0 picks a free port. */
    port?: number
    host?: string
    /** How many requests are kept, with bodies and headers; 0 keeps none. */
    recordedRequests?: number
  } = {},
) {
  const log = createRequestLog(options.recordedRequests ?? DEFAULT_RECORDED_REQUESTS)
  /** How often each model name was called, which `flaky` and `every` depend on. */
  const calls = new Map<string, number>()
  const caches = createPrefixCaches()
  const keyLimits = createKeyLimits()
  /** Providers that respond to every request with 503. */
  const down = new Set<string>()
  const countCall = (model: string): number => {
    if (calls.size >= MAX_COUNTED_MODELS) calls.clear()
    const number = (calls.get(model) ?? 0) + 1
    calls.set(model, number)
    return number
  }
  const clouds = createCloudAccess()
  let release = Promise.withResolvers<void>()
  const connections = new Set<Socket>()
  let totalConnections = 0
  let serial = 0

  /** Responds to a request as its model name says, unless `prepare` refuses it. */
  const serve = async (
    { wire, provider }: Target,
    model: string,
    { recorded, response, released }: Exchange,
    prepare: (context: TaskContext) => Refusal | ((frame: ResponseFrame) => Step[]),
  ) => {
    const reject = (refusal: Refusal) => {
      log.settle(recorded, 'finished')
      sendError(response, wire, refusal, provider, model)
    }
    if (down.has(provider)) return reject({ status: 503 })
    const behaviour = parseBehaviour(model)
    if (!behaviour) return reject({ status: 404 })
    if (behaviour.needsKey && !wire.hasKey(recorded.headers)) return reject({ status: 401 })
    if (behaviour.requestsPerKey !== undefined) {
      const { authorization, 'x-api-key': apiKey, 'x-goog-api-key': googleKey } = recorded.headers
      const secret = authorization ?? apiKey ?? googleKey
      const { isWithin, headers } = keyLimits.take(`${provider} ${secret}`, behaviour.requestsPerKey)
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
      if (!isWithin) return reject({ status: 429 })
    }
    const named = { provider, id: `sim-${provider}-${++serial}` }
    const plan = prepare({ ...named, behaviour, created: Math.floor(Date.now() / 1000) })
    if (typeof plan !== 'function') return reject(plan)
    const fault = activeFault(behaviour, provider, countCall(model), isReused(response.socket))
    const steps = plan({ ...named, wire, behaviour, fault, model })
    log.settle(recorded, await playResponse(steps, response, { ...behaviour, released }))
  }

  const open = (
    { url, headers }: IncomingMessage,
    response: ServerResponse,
    about: Pick<RecordedRequest, 'provider' | 'body' | 'text'> & { model: unknown },
  ): Exchange => {
    const recorded: RecordedRequest = {
      ...about,
      path: url ?? '',
      model: typeof about.model === 'string' ? about.model : null,
      headers,
      receivedAt: Date.now(),
      state: 'open',
    }
    log.add(recorded)
    return { recorded, response, released: release.promise }
  }

  const refuseBody = ({ wire, provider }: Target, { recorded, response }: Exchange): void => {
    log.settle(recorded, 'finished')
    sendError(response, wire, { status: 400 }, provider, 'none')
  }

  const complete = async (
    target: Extract<Target, { kind: 'completions' }>,
    text: string,
    request: IncomingMessage,
    response: ServerResponse,
  ) => {
    const { wire, provider, addressed } = target
    const body = parseJson(text)
    const asked = wire.readRequest(body, addressed, request.headers)
    const model = addressed.model ?? (body as { model?: unknown } | null)?.model
    const exchange = open(request, response, { provider, body, text, model })
    if (!asked) return refuseBody(target, exchange)
    const { method = '', url = '', headers } = request
    const signed = { method, target: url, headers, body: Buffer.from(text) }
    const problem = target.cloud ? clouds.problemOf(target.cloud, signed) : null
    return serve(target, asked.model, exchange, ({ behaviour, created }) => {
      if (problem !== null) return { status: 403 }
      const refusal = refuse(asked, behaviour)
      if (refusal) return refusal
      const completion = composeCompletion(asked, behaviour, provider)
      const { headers } = request
      const cachedTokens = behaviour.cachesPrefixes
        ? caches.read({ provider, model: asked.model, headers }, body, completion.promptTokens)
        : undefined
      return (frame) => planResponse({ ...frame, completion, cachedTokens, stream: asked.stream, created })
    })
  }

  const perform = async (
    target: Extract<Target, { kind: 'task' }>,
    bytes: Buffer,
    request: IncomingMessage,
    response: ServerResponse,
  ) => {
    const input = await readTaskInput(bytes, request.headers)
    const { provider, task } = target
    const text = input?.files.length === 0 ? bytes.toString() : ''
    const exchange = open(request, response, { provider, body: input, text, model: input?.model })
    if (!input) return refuseBody(target, exchange)
    return serve(target, input.model, exchange, (context) => {
      const reply = task.reply(input, context)
      return reply ? (frame) => planWhole(frame, reply) : { status: 400 }
    })
  }

  const counters = (): {
    openConnections: number
    totalConnections: number
    received: number
    aborted: number
  } => ({
    openConnections: connections.size,
    totalConnections,
    received: log.received,
    aborted: log.aborted,
  })

  /** The connections that have carried a request, and whether the current one is a further one. */
  const carried = new WeakMap<Socket, boolean>()
  const isReused = (socket: Socket | null) => socket !== null && carried.get(socket) === true

  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    carried.set(request.socket, carried.has(request.socket))
    const target = routeOf(request)
    if (target.kind === 'state') {
      sendJson(response, 200, JSON.stringify({ ...counters(), memoryBytes: process.memoryUsage.rss() }))
      return
    }
    if (target.kind === 'models') {
      sendModels(response, target.wire, target.provider)
      return
    }
    if (target.kind === 'refused') {
      sendError(response, CHAT_COMPLETIONS, target, 'simulated', 'none')
      return
    }
    readBody(request, (bytes) => {
      if (target.kind === 'token') {
        const url = `http://${request.headers.host}${request.url}`
        const { status, body } = clouds.exchange(target.cloud, new URLSearchParams(bytes.toString()), url)
        sendJson(response, status, JSON.stringify(body))
        return
      }
      const answered =
        target.kind === 'task'
          ? perform(target, bytes, request, response)
          : complete(target, bytes.toString(), request, response)
      answered.catch((error: unknown) => {
        console.error('the simulated provider failed', error)
        response.destroy()
      })
    })
  })
  server.on('connection', (socket) => {
    totalConnections++
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo

  return {
    /** `http://127.0.0.1:port`; a provider's base URL is `${url}/alpha/v1`. */
    url: `http://127.0.0.1:${port}`,
    log,
    down,
    clouds,
    /** Counters of this moment and since the start. */
    counters,
    /** Lets the held responses (`held`, `held-N`) of every request go on that has arrived by now. */
    release: (): void => {
      release.resolve()
      release = Promise.withResolvers()
    },
    /** Forgets the recorded requests, who is down, and the call counts behind `flaky` and `every`. */
    reset: (): void => {
      log.clear()
      calls.clear()
      down.clear()
    },
    /** Closes at once, breaking off whatever is open. */
    close: (): Promise<void> =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()))
        for (const socket of connections) socket.destroy()
      }),
  }
}

/** What a provider refuses before the model sees the request. */
function refuse(request: SimulatedRequest, behaviour: Behaviour): Refusal | null {
  if (behaviour.refusesPrefill && request.roles.at(-1) === 'assistant') return { status: 400 }
  if (behaviour.needsTurns && !areTurns(request.roles)) return { status: 400 }
  const tokens = request.promptTokens + (request.completionLimit ?? 1)
  const tooLong = behaviour.contextTokens !== undefined && tokens > behaviour.contextTokens
  return tooLong ? { status: 400, code: 'context' } : null
}

/** User and assistant in turn, the user first, after one system message at most. */
function areTurns(roles: readonly string[]): boolean {
  const spoken = roles[0] === 'system' ? roles.slice(1) : roles
  return spoken.length > 0 && spoken.every((role, at) => role === (at % 2 === 0 ? 'user' : 'assistant'))
}

type Target = Extract<Route, { kind: 'completions' | 'task' }>

/** One request and its response. */
interface Exchange {
  recorded: RecordedRequest
  response: ServerResponse
  /** Resolves when a held response may continue. */
  released: Promise<void>
}

const MAX_BODY_BYTES = 64 * 1024 * 1024

/** Reads a whole body and calls back with it. */
function readBody(request: IncomingMessage, done: (bytes: Buffer) => void): void {
  const parts: Buffer[] = []
  let size = 0
  request.on('data', (part: Buffer) => {
    size += part.length
    if (size > MAX_BODY_BYTES) request.destroy()
    else parts.push(part)
  })
  request.on('end', () => {
    done(parts.length === 1 ? parts[0]! : Buffer.concat(parts))
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Recorded as null and refused with 400, like any other invalid body.
    return null
  }
}

/** Responds with the models of the catalog. Any other name of the table of behaviours works as well. */
function sendModels(response: ServerResponse, wire: SimulatedWire, provider: string): void {
  sendJson(response, 200, JSON.stringify(wire.modelList(SIMULATED_UPSTREAM_MODELS, provider)))
}

/** Responds with an error body of the wire. */
function sendError(
  response: ServerResponse,
  wire: SimulatedWire,
  refusal: Refusal,
  provider: string,
  model: string,
): void {
  sendJson(response, refusal.status, wire.error(refusal, provider, model))
}

/** Responds with a JSON text. */
function sendJson(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(text)
}
