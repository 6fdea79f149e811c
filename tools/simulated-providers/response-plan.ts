import type { Behaviour, Fault } from './behaviour.ts'
import type { Completion } from './completion.ts'
import { HTML_PAGE, type Refusal, type SimulatedWire, type StreamEvents } from './simulated-wire.ts'

/** One thing a provider does with a connection. A whole response is a list of them, made before it starts. */
export type Step =
  | { kind: 'head'; status: number; headers: Record<string, string> }
  /** The status line and headers arrive piece by piece over this long; what follows is as usual. */
  | { kind: 'slow-head'; durationMs: number; headers: Record<string, string> }
  | { kind: 'write'; data: string }
  | { kind: 'bytes'; data: Buffer }
  /** The next write happens on a later turn of the event loop, so it is a chunk of its own. */
  | { kind: 'turn' }
  | { kind: 'wait'; durationMs: number }
  /** Nothing follows until the held responses are released. */
  | { kind: 'hold' }
  | { kind: 'end' }
  /** The connection closes in the middle of the body (FIN without the body's end). */
  | { kind: 'cut' }
  /** The connection is reset (RST). */
  | { kind: 'reset' }
  /** Nothing ever follows. */
  | { kind: 'stall' }

export interface WholeBody {
  contentType: string
  body: string | Buffer
}

/** What every response depends on. */
export interface ResponseFrame {
  wire: SimulatedWire
  behaviour: Behaviour
  fault: Fault | null
  provider: string
  model: string
  id: string
}

export interface PlanInput extends ResponseFrame {
  completion: Completion
  /** Prompt tokens that it read from its cache of prefixes. Absent: it has none. */
  cachedTokens?: number | undefined
  stream: boolean
  /** Unix seconds. */
  created: number
}

/** Plans a response: everything that will happen on the connection, in order. Pure. */
export function planResponse(input: PlanInput): Step[] {
  const streams = input.stream && !input.behaviour.ignoresStream
  return streams
    ? planHead(input, input.wire.streamType ?? 'text/event-stream; charset=utf-8', () => planStream(input))
    : planWhole(input, { contentType: 'application/json', body: input.wire.whole(input) })
}

/** Plans a response that is no stream. */
export function planWhole(input: ResponseFrame, { contentType, body }: WholeBody): Step[] {
  return planHead(input, contentType, () => planBody(input, body))
}

function planHead(input: ResponseFrame, contentType: string, planRest: () => Step[]): Step[] {
  const { behaviour, fault } = input
  const before: Step[] = behaviour.latencyMs > 0 ? [{ kind: 'wait', durationMs: behaviour.latencyMs }] : []
  if (behaviour.heldAfter === 0) before.push({ kind: 'hold' })
  const whole = fault && wholeResponseFault(input, fault)
  if (whole) return [...before, ...whole]
  const headers = responseHeaders(input, contentType)
  const head: Step =
    fault?.kind === 'slow-headers'
      ? // Headers written by hand announce no transfer encoding: the body ends with the connection.
        { kind: 'slow-head', durationMs: fault.durationMs, headers: withoutEncoding(headers) }
      : { kind: 'head', status: 200, headers }
  return [...before, head, ...planRest()]
}

/** Faults that replace the whole response. */
function wholeResponseFault(input: ResponseFrame, fault: Fault): Step[] | null {
  const json = (status: number, body: string, extra: Record<string, string> = {}): Step[] => [
    { kind: 'head', status, headers: { ...responseHeaders(input, 'application/json'), ...extra } },
    { kind: 'write', data: body },
    { kind: 'end' },
  ]
  switch (fault.kind) {
    case 'status': {
      const retry = input.wire.retryAfterInHeader ? fault.retryAfterSeconds : undefined
      return json(
        fault.status,
        errorBody(input, fault),
        retry === undefined ? {} : { 'retry-after': String(retry) },
      )
    }
    case 'reset':
      return [{ kind: 'reset' }]
    case 'hang':
      return [{ kind: 'stall' }]
    case 'error-body-200':
      return json(200, errorBody(input, { status: 500 }))
    case 'html-200':
      return [
        { kind: 'head', status: 200, headers: responseHeaders(input, 'text/html') },
        { kind: 'write', data: HTML_PAGE },
        { kind: 'end' },
      ]
    default:
      return null
  }
}

const errorBody = ({ wire, provider, model }: ResponseFrame, refusal: Refusal): string =>
  wire.error(refusal, provider, model)

function planBody(input: ResponseFrame, body: string | Buffer): Step[] {
  const part = (from: number, to: number): Step =>
    typeof body === 'string'
      ? { kind: 'write', data: body.slice(from, to) }
      : { kind: 'bytes', data: body.subarray(from, to) }
  const write = (end: number) => part(0, end)
  const half = Math.floor(body.length / 2)
  const pause: Step[] =
    input.behaviour.firstTokenMs > 0 ? [{ kind: 'wait', durationMs: input.behaviour.firstTokenMs }] : []
  switch (input.fault?.kind) {
    case 'cut-after':
    case 'end-after':
      return [...pause, write(half), { kind: 'cut' }]
    case 'reset-after':
      return [...pause, write(half), { kind: 'reset' }]
    case 'stall-after':
      return [...pause, write(half), { kind: 'stall' }]
    case 'hang-after-headers':
    case 'hang-after-role':
      return [{ kind: 'stall' }]
    default:
      return input.behaviour.heldAfter
        ? [...pause, write(half), { kind: 'hold' }, part(half, body.length), { kind: 'end' }]
        : [...pause, write(body.length), { kind: 'end' }]
  }
}

function planStream(input: PlanInput): Step[] {
  const { behaviour, fault } = input
  if (fault?.kind === 'hang-after-headers') return [{ kind: 'stall' }]
  const events = input.wire.events(input)
  const steps: Step[] = []
  const write = (data: string) => steps.push(stepOf(data, input.wire))
  if (behaviour.comments) write(events.comment)
  write(events.role)
  if (fault?.kind === 'hang-after-role') return [...steps, { kind: 'stall' }]
  if (behaviour.firstTokenMs > 0) steps.push({ kind: 'wait', durationMs: behaviour.firstTokenMs })

  const tokens = events.tokens
  const breakAt = fault && 'tokens' in fault ? Math.min(fault.tokens, tokens.length) : tokens.length
  for (let index = 0; index < breakAt; index++) {
    if (index > 0) {
      steps.push(...paceBefore(behaviour, index))
      if (index === behaviour.heldAfter) steps.push({ kind: 'hold' })
    }
    if (behaviour.comments && index % 4 === 3) write(events.comment)
    write(index === 0 ? padded(tokens[index]!, behaviour.paddingBytes) : tokens[index]!)
    if (fault?.kind === 'malformed-event' && index === 0) write(events.malformed)
  }
  if (fault && 'tokens' in fault) return [...steps, ...breakStream(fault.kind, events, input.wire)]

  if (!behaviour.missingFinish)
    write(behaviour.gluesEvents ? events.finish.replace(/(\r?\n)\r?\n$/, '$1') : events.finish)
  if (behaviour.usageDelayMs > 0) steps.push({ kind: 'wait', durationMs: behaviour.usageDelayMs })
  if (behaviour.usage !== 'missing') write(events.usage)
  if (!behaviour.missingDone) write(events.done)
  steps.push({ kind: 'end' })
  return steps
}

type BreakingFault = Extract<Fault, { tokens: number }>

function paceBefore(behaviour: Behaviour, index: number): Step[] {
  if (behaviour.tokensPerSecond !== undefined) {
    return [{ kind: 'wait', durationMs: 1000 / behaviour.tokensPerSecond }]
  }
  return behaviour.burst !== undefined && index % behaviour.burst === 0 ? [{ kind: 'turn' }] : []
}

/** An event with a field of this length, as some providers hide the length of a text. */
const padded = (event: string, bytes: number): string =>
  bytes === 0 ? event : event.replace('data: {', `data: {"obfuscation":"${'x'.repeat(bytes)}",`)

const stepOf = (data: string, { streamType }: SimulatedWire): Step =>
  streamType === undefined ? { kind: 'write', data } : { kind: 'bytes', data: Buffer.from(data, 'latin1') }

function breakStream(
  kind: BreakingFault['kind'],
  { error, toolError }: StreamEvents,
  wire: SimulatedWire,
): Step[] {
  switch (kind) {
    case 'cut-after':
      return [{ kind: 'cut' }]
    case 'reset-after':
      return [{ kind: 'reset' }]
    case 'stall-after':
      return [{ kind: 'stall' }]
    case 'end-after':
      return [{ kind: 'end' }]
    case 'error-event':
      return [stepOf(error, wire), { kind: 'end' }]
    case 'tool-error':
      return [stepOf(toolError, wire), { kind: 'end' }]
  }
}

function withoutEncoding(headers: Record<string, string>): Record<string, string> {
  const { 'transfer-encoding': _encoding, ...rest } = headers
  return rest
}

/** Headers as real providers send them, naming themselves in several ways, none of which may reach a client. */
function responseHeaders({ wire, provider, id }: ResponseFrame, contentType: string): Record<string, string> {
  return {
    'content-type': contentType,
    ...(contentType.startsWith('text/event-stream') && { 'transfer-encoding': 'chunked' }),
    'x-served-by': `simulated-${provider}`,
    ...wire.ownHeaders(provider, id),
  }
}
