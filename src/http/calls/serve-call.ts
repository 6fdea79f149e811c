import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { StandardKey } from '../../accounts/key-cache.ts'
import type { Caller } from '../../calls/api/admit-call.ts'
import { attachCall } from '../../calls/api/attach-call.ts'
import type { CachedCall } from '../../calls/api/cached-call.ts'
import { type AdmittedCall, dispatchCall } from '../../calls/api/enqueue-and-wait.ts'
import type { CallSink, PendingCall } from '../../calls/api/pending-call.ts'
import { type RepeatedCall, type StartCallDependencies, startCall } from '../../calls/api/start-call.ts'
import { readCallGroups } from '../../core/billing/group.ts'
import type { ResponseEnvelope } from '../../core/calls/call-job.ts'
import { readCallLabels } from '../../core/calls/call-labels.ts'
import { refuseLongText } from '../../core/calls/chat-request.ts'
import { conversationHash, readConversationId } from '../../core/calls/conversation-id.ts'
import { type CallContent, type CallRequest, type Kind, kindOf } from '../../core/calls/kinds/call-kinds.ts'
import type { TestGuardrail } from '../../core/guardrails/guardrail.ts'
import type { BoundedJson } from '../../core/json/bounded-json.ts'
import { invalid } from '../../core/kernel/errors.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { CallPlan } from '../../core/routing/call-plan.ts'
import { drawnFirst } from '../../core/routing/drawn-first.ts'
import type { BodyStore } from '../../platform/body-store/body-store.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { isTraced } from '../../platform/observability/tracing.ts'
import {
  CompletionCollector,
  type CompletionWriter,
  type ResponseFormat,
  StreamWriter,
  type WholeBody,
} from './completion-writer.ts'
import { startEventStream, whenResponseCloses } from './event-stream.ts'
import { sendWholeBody } from './whole-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Called with the id of the request's call, before anything is sent. */
    callStarted?: ((callId: string) => void) | undefined
  }
}

/** Copies the calls of keys whose holders want it. */
export interface CallLog {
  /** The copied part of a request: its body, or the content that was read from it. */
  readPrompt: (body: unknown) => BoundedJson
  /** A sink that passes frames on, and copies their content. `end` is called when the client is gone. */
  watch: (sink: CallSink, call: LoggedCall) => { sink: CallSink; end: () => void }
}

/** Asks the guardrails of keys that have any. */
export interface CallGuards {
  /** Asks about the prompt in the body of a call, and replaces its texts there. Throws ApiError. */
  prompt: (key: StandardKey, body: object, request: FastifyRequest, reply: FastifyReply) => Promise<void>
  /** Null: none is asked about answers. */
  answer: (
    key: StandardKey,
    request: FastifyRequest,
    reply: FastifyReply,
    background: AbortSignal | undefined,
  ) => AnswerGuard | null
  /** What one answers to a text. */
  test: TestGuardrail
}

/** A sink before that of an answer, for what may pass. */
export type AnswerGuard = (
  sink: CallSink,
  envelope: ResponseEnvelope,
  kind: Kind,
  isCharged: boolean,
) => CallSink

export interface LoggedCall extends Pick<StandardKey, 'accountId' | 'keyId'> {
  callId: CallId
  /** What `readPrompt` returned. */
  request: BoundedJson
  /** Retention. */
  days: number
}

export interface CallServices {
  /** What the calls of an account need, by its shard. */
  pathOf: (accountId: string) => StartCallDependencies
  files: BodyStore
  clock: () => number
  logger: Logger
  promptLogs: CallLog
  /** Loads them with the first key that has guardrails. */
  guards: () => Promise<CallGuards>
  limits: {
    textBodyLimitBytes: number
    bodyIdleMs: number
    keepAliveMs: number
    slowClientBufferBytes: number
  }
}

/** How much more text a call under /v2 may have, because agents send their whole history. */
const HISTORY_FACTOR = 3

/** Refuses a prompt with too much text. Throws ApiError `request_too_large`. */
export function refuseLongPrompt(
  content: CallContent,
  { bodyBytes, routeOptions }: Pick<FastifyRequest, 'bodyBytes' | 'routeOptions'>,
  { textBodyLimitBytes }: Pick<CallServices['limits'], 'textBodyLimitBytes'>,
): void {
  const factor = routeOptions.url?.startsWith('/v2/') ? HISTORY_FACTOR : 1
  refuseLongText(kindOf(content).media(content), bodyBytes, textBodyLimitBytes * factor)
}

/** The body of a call, and the version of the preset that is in it: as `name@3`, with the weights of its models. */
export interface CallBody<Body> {
  body: Body
  preset?: { label: string; weights?: readonly number[] | null | undefined }
  /** What of the preset the surface has no field for; absent: nothing. */
  leftOut?: string[]
}

/** How the route of a call has it served. */
export interface ServeOptions extends Pick<Caller, 'fingerprint'> {
  format: ResponseFormat<string | WholeBody>
  /** What its route left out of the body; added to `x-ignored-parameters`. */
  ignored?: readonly string[] | undefined
  /** The version of the preset that it uses; absent: none. */
  preset?: CallBody<unknown>['preset'] | undefined
  /** Its id, if the route assigned one. */
  callId?: CallId
  /** The plan that was made for its quote; absent: it is planned when it starts. */
  plan?: CallPlan
  /** Wraps, or replaces, the writer that receives the call's frames. */
  watch?: (writer: CompletionWriter, envelope: ResponseEnvelope) => CompletionWriter
  /** The call continues without its client; it is cancelled when this signal aborts. */
  background?: AbortSignal
  /** Called when the call is dispatched; the returned function is called when the call is over, for its worker too. */
  dispatched?: () => () => void
}

const LONG_BODY_BYTES = 512 * 1024
/** Maximum parameters in a header, which clients bound. */
const IGNORED_MAX = 32

/** Makes every call: starts it with this key and relays its response. Throws ApiError. */
export async function serveCall(
  key: StandardKey,
  sent: CallRequest,
  options: ServeOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: CallServices,
): Promise<FastifyReply> {
  const { format, callId, plan, background, watch = (writer: CompletionWriter) => writer } = options
  const { bodyReservation: reservation, bodyBytes } = request
  if (key.guardrails && !request.isGuarded) throw new Error('no guardrail was asked about this prompt')
  const guard = key.guardrails && (await deps.guards()).answer(key, request, reply, background)
  const caller = callerOf(key, options, request)
  const call = ofDrawnModel(sent, caller, options)
  const prompt =
    key.promptLogDays === undefined ? null : deps.promptLogs.readPrompt(request.body ?? call.content)
  // The request object lives as long as its response, so that its text is released here.
  request.body = undefined
  request.exactJson = undefined
  request.sentJson = undefined
  refuseLongPrompt(call.content, request, deps.limits)
  // Reading a long request took tens of milliseconds, and so does bounding it.
  if (bodyBytes > LONG_BODY_BYTES) await nextTurn()
  const shard = deps.pathOf(key.accountId)
  const started = await startCall(call, caller, { callId, plan }, shard)
  const { envelope } = started
  request.isAdmitted = true
  request.unmeter()
  request.callStarted?.(envelope.id)
  if (envelope.affordedLimit !== undefined) reply.header('x-completion-limit', envelope.affordedLimit)
  const ignored = [...(options.ignored ?? []), ...(envelope.ignoredParameters ?? [])]
  if (caller.cacheSeconds !== undefined) noteCache(started, reply)
  if (ignored.length > 0) reply.header('x-ignored-parameters', ignored.slice(0, IGNORED_MAX).join(', '))
  // Nothing is awaited after this, so that the request's text is freed while its response is sent.
  const writer = watch(
    call.stream
      ? streamTo(envelope, format, request, reply, deps)
      : new CompletionCollector(envelope, format),
    envelope,
  )
  const guarded = (sink: CallSink): CallSink =>
    guard?.(sink, envelope, call.content.kind, started.kind !== 'cached') ?? sink
  if (started.kind === 'cached') return sendCached(started, writer, guarded(writer), reply, deps.files)
  const log = prompt ? logged(started, key, prompt, writer, deps) : null
  const pending = relay(started, call, options, guarded(log?.sink ?? writer), reservation, shard, log?.end)
  if (log && !background) whenResponseCloses(reply.raw, log.end)
  background?.addEventListener('abort', () => pending.abandon(), { once: true })
  return send(writer, pending, { inBackground: background !== undefined }, reply, deps.files)
}

function callerOf(
  key: StandardKey,
  { fingerprint, preset, plan, background }: ServeOptions,
  request: FastifyRequest,
): Caller {
  const isCacheable = fingerprint !== null && !plan && !background
  const session = readConversationId(request.headers, request.body)
  const groups = key.groups && readCallGroups(key.groups, request.body)
  return {
    key,
    requestId: request.id,
    idempotencyKey: idempotencyKey(request),
    fingerprint,
    bodyBytes: request.bodyBytes,
    labels: readCallLabels(request.headers, request.body, { preset: preset?.label, session, groups }),
    conversation: isTraced() ? session : undefined,
    cacheSeconds: isCacheable ? cacheSeconds(request, key) : undefined,
    surface: request.routeOptions.url,
    noteRate: request.noteRate.bind(request),
  }
}

/** The call with the model of its preset first that its conversation is drawn for. */
function ofDrawnModel(
  call: CallRequest,
  { key, labels }: Pick<Caller, 'key' | 'labels'>,
  { preset }: ServeOptions,
): CallRequest {
  if (!preset?.weights) return call
  const conversation = conversationHash(call.content, labels?.session, key.accountId) ?? 0
  return { ...call, models: drawnFirst(call.models, preset.weights, conversation) }
}

/** A sink that stores a copy of the completion for a key with prompt logs. A repeat is already stored. */
function logged(
  call: AdmittedCall | RepeatedCall,
  { accountId, keyId, promptLogDays: days }: StandardKey,
  request: BoundedJson,
  writer: CompletionWriter,
  { promptLogs }: CallServices,
): ReturnType<CallLog['watch']> | null {
  if (call.kind === 'repeat' || days === undefined) return null
  return promptLogs.watch(writer, { ...{ accountId, keyId, request, days }, callId: call.envelope.id })
}

/** Enqueues an admitted call, or attaches to the original of a repeat. The writer receives its frames. */
function relay(
  call: AdmittedCall | RepeatedCall,
  { content }: CallRequest,
  { dispatched }: ServeOptions,
  sink: CallSink,
  reservation: FastifyRequest['bodyReservation'],
  { dispatch, idempotency }: StartCallDependencies,
  endLog: (() => void) | undefined,
): PendingCall {
  if (call.kind === 'repeat') return attachCall(call.envelope, sink, { ...dispatch, idempotency })
  reservation?.hold()
  const over = dispatched?.()
  return dispatchCall(call, content, sink, dispatch, () => {
    reservation?.release()
    endLog?.()
    over?.()
  })
}

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/

function idempotencyKey({ headers }: FastifyRequest): string | null {
  const given = headers['idempotency-key']
  if (given === undefined) return null
  if (typeof given === 'string' && IDEMPOTENCY_KEY.test(given)) return given
  throw invalid('Idempotency-Key', '`Idempotency-Key` must be 1 to 255 printable ASCII characters.')
}

/** Maximum age of a cached response, a day. */
const CACHE_SECONDS_MAX = 86_400

/** How old a response from the cache may be, by the header `x-shuntyard-cache`, else the key; undefined: the call does not use it. */
function cacheSeconds({ headers }: FastifyRequest, key: StandardKey): number | undefined {
  const given = headers['x-shuntyard-cache']
  if (given === undefined) return key.cacheSeconds
  const seconds = /^\d{1,5}$/.test(String(given)) ? Number(given) : Number.NaN
  if (!(seconds <= CACHE_SECONDS_MAX))
    throw invalid('x-shuntyard-cache', `\`x-shuntyard-cache\` must be seconds, 0 to ${CACHE_SECONDS_MAX}.`)
  return seconds === 0 ? undefined : seconds
}

function noteCache(started: AdmittedCall | RepeatedCall | CachedCall, reply: FastifyReply): void {
  const isHit = started.kind === 'cached'
  reply.header('x-shuntyard-cache', isHit ? 'hit' : 'miss')
  if (isHit) reply.header('x-shuntyard-cache-age', started.ageSeconds)
}

/** Sends a cached response, of which nothing is left to come. */
async function sendCached(
  call: CachedCall,
  writer: CompletionWriter,
  sink: CallSink,
  reply: FastifyReply,
  files: BodyStore,
): Promise<FastifyReply> {
  const { replayCached } = await import('../../calls/api/cached-call.ts')
  replayCached(call, sink)
  const body = await writer.body
  if (body === null) return reply.hijack()
  if (typeof body === 'string') return reply.type('application/json; charset=utf-8').send(body)
  return sendWholeBody(body, reply, { files, lost: () => undefined })
}

async function send(
  writer: CompletionWriter,
  call: PendingCall,
  { inBackground }: { inBackground: boolean },
  reply: FastifyReply,
  files: BodyStore,
): Promise<FastifyReply> {
  const body = await (inBackground ? writer.body : Promise.race([writer.body, clientGone(reply, call)]))
  // From here on the writer of a stream owns the connection.
  if (body === null) return reply.hijack()
  if (typeof body === 'string') return reply.type('application/json; charset=utf-8').send(body)
  return sendWholeBody(body, reply, { files, lost: () => call.lost() })
}

function streamTo(
  envelope: ResponseEnvelope,
  format: ServeOptions['format'],
  request: FastifyRequest,
  reply: FastifyReply,
  { clock, limits }: CallServices,
): StreamWriter {
  return new StreamWriter({
    envelope,
    format,
    response: reply.raw,
    requestId: request.id,
    commit: () =>
      startEventStream(reply, { ...request.rateHeaders(), 'cache-control': 'no-cache, no-transform' }),
    keepAliveMs: limits.keepAliveMs,
    maxBufferedBytes: limits.slowClientBufferBytes,
    failed: (code) => {
      request.errorCode = code
    },
    nowMs: clock(),
  })
}

/** Resolves, and cancels the call, if the client disconnects before the response is complete. */
function clientGone({ raw }: FastifyReply, call: PendingCall): Promise<null> {
  return new Promise((resolve) => {
    whenResponseCloses(raw, () => {
      if (raw.writableFinished) return
      call.abandon()
      resolve(null)
    })
  })
}
