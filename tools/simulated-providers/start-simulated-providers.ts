import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { SIMULATED_UPSTREAM_MODELS } from '../../src/core/catalog/simulated-catalog.ts'
import { composeAnswer } from './answer.ts'
import { activeFault, type Behaviour, parseBehaviour } from './behaviour.ts'
import { playResponse } from './play-response.ts'
import { createRequestLog, type RecordedRequest } from './request-log.ts'
import { planResponse } from './response-plan.ts'
import type { SimulatedRequest } from './simulated-request.ts'
import type { Addressed, Refusal, SimulatedWire } from './simulated-wire.ts'
import { ANTHROPIC_MESSAGES } from './wires/anthropic-messages.ts'
import { CHAT_COMPLETIONS } from './wires/chat-completions.ts'
import { GOOGLE_GENERATE_CONTENT } from './wires/google-generate-content.ts'

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
  const countCall = (model: string): number => {
    if (calls.size >= MAX_COUNTED_MODELS) calls.clear()
    const number = (calls.get(model) ?? 0) + 1
    calls.set(model, number)
    return number
  }
  let release = Promise.withResolvers<void>()
  const connections = new Set<Socket>()
  let totalConnections = 0
  let serial = 0

  const complete = async (
    { wire, provider }: Target,
    request: SimulatedRequest,
    recorded: RecordedRequest,
    response: ServerResponse,
    released: Promise<void>,
  ) => {
    const behaviour = parseBehaviour(request.model)
    const refusal = refuse(request, behaviour, wire.hasKey(recorded.headers))
    if (!behaviour || refusal) {
      log.settle(recorded, 'finished')
      sendError(response, wire, refusal ?? { status: 404 }, provider, request.model)
      return
    }
    const steps = planResponse({
      wire,
      answer: composeAnswer(request, behaviour, provider),
      behaviour,
      fault: activeFault(behaviour, provider, countCall(request.model)),
      stream: request.stream,
      provider,
      model: request.model,
      id: `sim-${provider}-${++serial}`,
      created: Math.floor(Date.now() / 1000),
    })
    log.settle(recorded, await playResponse(steps, response, { ...behaviour, released }))
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

  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
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
    const { wire, provider, addressed } = target
    readJsonBody(request, (body, text) => {
      const simulated = wire.readRequest(body, addressed, request.headers)
      const recorded = newRecord(request, target, body, text)
      const released = release.promise
      log.add(recorded)
      if (!simulated) {
        log.settle(recorded, 'finished')
        sendError(response, wire, { status: 400 }, provider, 'none')
        return
      }
      complete(target, simulated, recorded, response, released).catch((error: unknown) => {
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
    /** Counters of this moment and since the start. */
    counters,
    /** Lets the held answers (`held`, `held-N`) of every request go on that has arrived by now. */
    release: (): void => {
      release.resolve()
      release = Promise.withResolvers()
    },
    /** Forgets the recorded requests and the call counts behind `flaky` and `every`. */
    reset: (): void => {
      log.clear()
      calls.clear()
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
function refuse(request: SimulatedRequest, behaviour: Behaviour | null, hasKey: boolean): Refusal | null {
  if (!behaviour) return { status: 404 }
  if (behaviour.needsKey && !hasKey) return { status: 401 }
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

type Target = Extract<Route, { kind: 'completions' }>

function newRecord(
  request: IncomingMessage,
  { provider, addressed }: Target,
  body: unknown,
  text: string,
): RecordedRequest {
  const model = addressed.model ?? (body as { model?: unknown } | null)?.model
  return {
    provider,
    path: request.url ?? '',
    model: typeof model === 'string' ? model : null,
    headers: request.headers,
    body,
    text,
    receivedAt: Date.now(),
    state: 'open',
  }
}

const MAX_BODY_BYTES = 64 * 1024 * 1024

/** Reads a whole JSON body and calls back with it, or with null when it is not JSON, and with its text. */
function readJsonBody(request: IncomingMessage, done: (body: unknown, text: string) => void): void {
  const parts: Buffer[] = []
  let size = 0
  request.on('data', (part: Buffer) => {
    size += part.length
    if (size > MAX_BODY_BYTES) request.destroy()
    else parts.push(part)
  })
  request.on('end', () => {
    const text = (parts.length === 1 ? parts[0]! : Buffer.concat(parts)).toString()
    done(parseJson(text), text)
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Recorded as null and answered with a 400, like any body that is no request.
    return null
  }
}

/** Answers with the models that the catalog offers. Any other name of the table of behaviours works as well. */
function sendModels(response: ServerResponse, wire: SimulatedWire, provider: string): void {
  sendJson(response, 200, JSON.stringify(wire.modelList(SIMULATED_UPSTREAM_MODELS, provider)))
}

/** Answers with an error body in the wire's form. */
function sendError(
  response: ServerResponse,
  wire: SimulatedWire,
  refusal: Refusal,
  provider: string,
  model: string,
): void {
  sendJson(response, refusal.status, wire.error(refusal, provider, model))
}

/** Answers with a JSON text. */
function sendJson(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(text)
}

type Route =
  | { kind: 'state' }
  | { kind: 'models'; wire: SimulatedWire; provider: string }
  | { kind: 'completions'; wire: SimulatedWire; provider: string; addressed: Addressed }
  | { kind: 'refused'; status: number }

const IN_BODY: Addressed = { model: null, streams: false }

/** Which wire of which provider a request is for. Two wires list their models at one path; a header tells them apart. */
function routeOf(request: IncomingMessage): Route {
  const path = (request.url ?? '').split('?')[0]!
  if (path === '/state') return { kind: 'state' }
  const match = /^\/([a-z0-9]+)\/(v1|v1beta)\/(.+)$/.exec(path)
  if (!match) return { kind: 'refused', status: 404 }
  const [, provider, version, rest] = match as unknown as [string, string, string, string]
  const route = version === 'v1' ? routeOfVersion1(request, provider, rest) : routeOfGoogle(provider, rest)
  const method = route.kind === 'models' ? 'GET' : 'POST'
  return route.kind === 'refused' || request.method === method ? route : { kind: 'refused', status: 405 }
}

function routeOfVersion1({ headers }: IncomingMessage, provider: string, rest: string): Route {
  switch (rest) {
    case 'chat/completions':
      return { kind: 'completions', wire: CHAT_COMPLETIONS, provider, addressed: IN_BODY }
    case 'messages':
      return { kind: 'completions', wire: ANTHROPIC_MESSAGES, provider, addressed: IN_BODY }
    case 'models': {
      const wire = headers['anthropic-version'] === undefined ? CHAT_COMPLETIONS : ANTHROPIC_MESSAGES
      return { kind: 'models', wire, provider }
    }
    default:
      return { kind: 'refused', status: 404 }
  }
}

function routeOfGoogle(provider: string, rest: string): Route {
  const wire = GOOGLE_GENERATE_CONTENT
  if (rest === 'models') return { kind: 'models', wire, provider }
  const call = /^models\/([^/:]+):(streamGenerateContent|generateContent)$/.exec(rest)
  if (!call) return { kind: 'refused', status: 404 }
  const addressed = { model: decodeURIComponent(call[1]!), streams: call[2] === 'streamGenerateContent' }
  return { kind: 'completions', wire, provider, addressed }
}
