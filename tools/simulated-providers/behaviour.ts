/**
 * A simulated model's name says how it behaves. The name is a list of segments joined by dots, optionally
 * led by `sim-`: `sim-words-200.rate-50`, `sim-status-429-retry-2`, `sim-on-alpha-cut-after-5.words-40`.
 * Every segment is in the table of docs/simulated-providers.md. An unknown segment is an unknown model, so
 * that a mistyped fault is refused with 404 and can never pass as a healthy model.
 */

/** What goes wrong, if anything does. Counts are tokens; durations are milliseconds. */
export type Fault =
  | { kind: 'status'; status: number; retryAfterSeconds?: number; code?: 'context' | 'policy' }
  | { kind: 'reset' }
  | { kind: 'hang' }
  | { kind: 'slow-headers'; durationMs: number }
  | { kind: 'hang-after-headers' }
  | { kind: 'hang-after-role' }
  | {
      kind: 'cut-after' | 'reset-after' | 'end-after' | 'stall-after' | 'error-event' | 'tool-error'
      tokens: number
    }
  | { kind: 'malformed-event' }
  | { kind: 'error-body-200' }
  | { kind: 'html-200' }

/** When a fault strikes. */
export type Condition =
  | { kind: 'always' }
  | { kind: 'on-provider'; provider: string }
  /** The first N calls of this model name, whichever provider they arrive at. */
  | { kind: 'first-calls'; calls: number }
  /** Every Nth call of this model name. */
  | { kind: 'every-call'; period: number }
  /** The connection has carried a request before. */
  | { kind: 'reused-connection' }

export interface Behaviour {
  faults: Array<{ when: Condition; fault: Fault }>

  style: 'prose' | 'echo' | 'empty'
  words: number
  /** Reasoning tokens streamed as `reasoning_content` before the text, and counted in the usage. */
  reasoningTokens: number
  multibyte: boolean
  differentText: boolean
  brokenJson: boolean
  /** Calls all tools that are left to call in one turn. */
  parallelCalls: boolean
  refuses: boolean
  /** Says all of its words, whatever the limit. */
  ignoresLimit: boolean
  continuesPrefill: boolean
  refusesPrefill: boolean
  /** Refuses anything but user and assistant taking turns after one system message. */
  needsTurns: boolean
  finishReason: string | null
  /** How the pieces of tool calls are written on the chat-completions wire. */
  callPieces: 'usual' | 'no-index' | 'one-index' | 'empty-ids' | 'objects'
  /** Sends no finish reason. */
  missingFinish: boolean
  /** Prompt tokens read from a cache that its last event alone reports, a third of them; earlier ones report none. */
  cachesLate: boolean
  /** Keeps the prompts that it gets in a cache, and reports what of a prompt it read from there. */
  cachesPrefixes: boolean
  /** Bytes of padding in the event of the first token. */
  paddingBytes: number
  /** No empty line between the finish reason and the usage. */
  gluesEvents: boolean
  /** Between the finish reason and the usage. */
  usageDelayMs: number

  /** Before the headers. */
  latencyMs: number
  /** After so many tokens the response waits until it is released; 0: before its headers. Undefined: it never waits. */
  heldAfter: number | undefined
  /** Between the headers and the first token. */
  firstTokenMs: number
  /** Undefined: as fast as it can. */
  tokensPerSecond: number | undefined
  /** Tokens a write, each on its own turn of the event loop; undefined: the whole completion in one write. */
  burst: number | undefined

  splitBytes: boolean
  gzip: boolean
  crlf: boolean
  comments: boolean
  missingDone: boolean
  usage: 'true' | 'missing' | 'absurd' | 'negative'
  /** Tokens that it puts before each prompt, and counts. */
  preambleTokens: number
  ignoresStream: boolean
  needsKey: boolean
  /** Requests a minute of each key; undefined: unlimited. */
  requestsPerKey: number | undefined
  /** Prompt and completion limit together may not exceed this; undefined: unlimited. */
  contextTokens: number | undefined
  /** Components of an embedding. */
  dimensions: number
  /** How many qualities its images have; their tokens are reported then. Undefined: it knows no qualities. */
  imageQualities: 3 | 5 | undefined
  /** Sends addresses of images unless base64 is asked for. */
  sendsImageUrls: boolean
  /** Files and transcripts are noise, of the right length. */
  garbage: boolean
}

const PLAIN: Behaviour = {
  faults: [],
  style: 'prose',
  words: 60,
  reasoningTokens: 0,
  multibyte: false,
  differentText: false,
  brokenJson: false,
  parallelCalls: false,
  refuses: false,
  ignoresLimit: false,
  continuesPrefill: false,
  refusesPrefill: false,
  needsTurns: false,
  finishReason: null,
  callPieces: 'usual',
  missingFinish: false,
  cachesLate: false,
  cachesPrefixes: false,
  paddingBytes: 0,
  gluesEvents: false,
  usageDelayMs: 0,
  latencyMs: 0,
  heldAfter: undefined,
  firstTokenMs: 0,
  tokensPerSecond: undefined,
  burst: undefined,
  splitBytes: false,
  gzip: false,
  crlf: false,
  comments: false,
  missingDone: false,
  usage: 'true',
  preambleTokens: 0,
  ignoresStream: false,
  needsKey: false,
  requestsPerKey: undefined,
  contextTokens: undefined,
  dimensions: 1_536,
  imageQualities: undefined,
  sendsImageUrls: false,
  garbage: false,
}

const DEFAULT_FAULT_TOKENS = 3
const DEFAULT_SLOW_HEADERS_MS = 60_000

type Traits = Partial<Behaviour>
type Row = readonly [pattern: RegExp, traits: (...groups: string[]) => Traits]

/** Segments that shape a successful completion. */
const TRAITS: readonly Row[] = [
  [/^echo$/, () => ({ style: 'echo' })],
  [/^words-(\d{1,5})$/, (words) => ({ words: Number(words) })],
  [/^empty$/, () => ({ style: 'empty' })],
  [/^reasoning-(\d{1,5})$/, (tokens) => ({ reasoningTokens: Number(tokens) })],
  [/^multibyte$/, () => ({ multibyte: true })],
  [/^different-text$/, () => ({ differentText: true })],
  [/^broken-json$/, () => ({ brokenJson: true })],
  [/^parallel$/, () => ({ parallelCalls: true })],
  [/^refuse$/, () => ({ refuses: true })],
  [/^prefill$/, () => ({ continuesPrefill: true })],
  [/^ignore-limit$/, () => ({ ignoresLimit: true })],
  [/^no-prefill$/, () => ({ refusesPrefill: true })],
  [/^turns$/, () => ({ needsTurns: true })],
  [/^finish-([a-z_]+)$/, (reason) => ({ finishReason: reason })],
  [
    /^calls-(no-index|one-index|empty-ids|objects)$/,
    (how) => ({ callPieces: how as Behaviour['callPieces'] }),
  ],
  [/^missing-finish$/, () => ({ missingFinish: true })],
  [/^nameless-finish$/, () => ({ finishReason: '' })],
  [/^late-cache$/, () => ({ cachesLate: true })],
  [/^prefix-cache$/, () => ({ cachesPrefixes: true })],
  [/^long-event-(\d{1,5})$/, (kibibytes) => ({ paddingBytes: Number(kibibytes) * 1024 })],
  [/^glued$/, () => ({ gluesEvents: true })],
  [/^late-usage-(\d{1,5})$/, (ms) => ({ usageDelayMs: Number(ms) })],
  [/^latency-(\d{1,6})$/, (ms) => ({ latencyMs: Number(ms) })],
  [/^held(?:-(\d{1,5}))?$/, (tokens) => ({ heldAfter: Number(tokens ?? 0) })],
  [/^first-token-(\d{1,6})$/, (ms) => ({ firstTokenMs: Number(ms) })],
  [/^rate-(\d{1,6})$/, (rate) => ({ tokensPerSecond: Math.max(1, Number(rate)) })],
  [/^burst-(\d{1,4})$/, (tokens) => ({ burst: Math.max(1, Number(tokens)) })],
  [/^split-bytes$/, () => ({ splitBytes: true, multibyte: true, words: 12 })],
  [/^gzip$/, () => ({ gzip: true })],
  [/^crlf$/, () => ({ crlf: true })],
  [/^comments$/, () => ({ comments: true })],
  [/^missing-done$/, () => ({ missingDone: true })],
  [/^(missing|absurd|negative)-usage$/, (kind) => ({ usage: kind as Behaviour['usage'] })],
  [/^preamble-(\d{1,6})$/, (tokens) => ({ preambleTokens: Number(tokens) })],
  [/^ignore-stream$/, () => ({ ignoresStream: true })],
  [/^auth$/, () => ({ needsKey: true })],
  [/^per-key-(\d{1,6})$/, (requests) => ({ needsKey: true, requestsPerKey: Number(requests) })],
  [/^context-(\d{1,8})$/, (tokens) => ({ contextTokens: Number(tokens) })],
  [/^dimensions-(\d{1,4})$/, (components) => ({ dimensions: Math.max(1, Number(components)) })],
  [/^image-tokens-([35])$/, (qualities) => ({ imageQualities: qualities === '3' ? 3 : 5 })],
  [/^image-urls$/, () => ({ sendsImageUrls: true })],
  [/^garbage$/, () => ({ garbage: true })],
  // Makes otherwise equal names distinct, so that tests do not share the counters of `flaky` and `every`.
  [/^tag-[a-z0-9-]+$/, () => ({})],
]

const FAULTS: ReadonlyArray<readonly [RegExp, (...groups: string[]) => Fault]> = [
  [
    /^status-(\d{3})(?:-retry-(\d{1,5}))?$/,
    (status, retry) => ({
      kind: 'status',
      status: Number(status),
      ...(retry !== undefined && { retryAfterSeconds: Number(retry) }),
    }),
  ],
  [
    /^status-400-(context|policy)$/,
    (code) => ({ kind: 'status', status: 400, code: code as 'context' | 'policy' }),
  ],
  [/^reset$/, () => ({ kind: 'reset' })],
  [/^hang$/, () => ({ kind: 'hang' })],
  [
    /^slow-headers(?:-(\d{1,6}))?$/,
    (ms) => ({ kind: 'slow-headers', durationMs: Number(ms ?? DEFAULT_SLOW_HEADERS_MS) }),
  ],
  [/^hang-after-headers$/, () => ({ kind: 'hang-after-headers' })],
  [/^hang-after-role$/, () => ({ kind: 'hang-after-role' })],
  [
    /^(cut-after|reset-after|end-after|stall-after|error-event|tool-error)(?:-(\d{1,5}))?$/,
    (kind, tokens) => ({ kind: kind as 'cut-after', tokens: Number(tokens ?? DEFAULT_FAULT_TOKENS) }),
  ],
  [/^malformed-event$/, () => ({ kind: 'malformed-event' })],
  [/^error-body-200$/, () => ({ kind: 'error-body-200' })],
  [/^html-200$/, () => ({ kind: 'html-200' })],
]

/** What a model name asks for, or null when a segment of it is unknown. Pure. */
export function parseBehaviour(model: string): Behaviour | null {
  const segments = model.replace(/^sim[-.]/, '').split('.')
  let behaviour: Behaviour = { ...PLAIN, faults: [] }
  for (const segment of segments) {
    const traits = parseTraits(segment)
    if (traits) {
      behaviour = { ...behaviour, ...traits }
      continue
    }
    const conditional = parseConditional(segment)
    if (!conditional) return null
    behaviour.faults.push(conditional)
  }
  return behaviour
}

function parseTraits(segment: string): Traits | null {
  for (const [pattern, traits] of TRAITS) {
    const match = pattern.exec(segment)
    if (match) return traits(...match.slice(1))
  }
  return null
}

function parseConditional(segment: string): Behaviour['faults'][number] | null {
  const onProvider = /^on-([a-z0-9]+)-(.+)$/.exec(segment)
  if (onProvider) return withFault({ kind: 'on-provider', provider: onProvider[1]! }, onProvider[2]!)
  const failOn = /^fail-on-([a-z0-9]+)$/.exec(segment)
  if (failOn) return withFault({ kind: 'on-provider', provider: failOn[1]! }, 'status-503')
  if (segment === 'stale') return withFault({ kind: 'reused-connection' }, 'reset')
  const flaky = /^flaky-(\d{1,5})(?:-(.+))?$/.exec(segment)
  if (flaky) return withFault({ kind: 'first-calls', calls: Number(flaky[1]) }, flaky[2] ?? 'status-500')
  const every = /^every-(\d{1,5})-(.+)$/.exec(segment)
  if (every) return withFault({ kind: 'every-call', period: Math.max(1, Number(every[1])) }, every[2]!)
  return withFault({ kind: 'always' }, segment)
}

function withFault(when: Condition, text: string): Behaviour['faults'][number] | null {
  for (const [pattern, fault] of FAULTS) {
    const match = pattern.exec(text)
    if (match) return { when, fault: fault(...match.slice(1)) }
  }
  return null
}

/**
 * The fault that strikes a call, or null.
 * @param callNumber how many calls this model name has had, this one included
 * @param isReused whether its connection has carried a request before
 */
export function activeFault(
  behaviour: Behaviour,
  provider: string,
  callNumber: number,
  isReused = false,
): Fault | null {
  return behaviour.faults.find(({ when }) => strikes(when, provider, callNumber, isReused))?.fault ?? null
}

function strikes(when: Condition, provider: string, callNumber: number, isReused: boolean): boolean {
  switch (when.kind) {
    case 'always':
      return true
    case 'on-provider':
      return when.provider === provider
    case 'first-calls':
      return callNumber <= when.calls
    case 'every-call':
      return callNumber % when.period === 0
    case 'reused-connection':
      return isReused
  }
}
