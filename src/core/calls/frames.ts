import type { ErrorCode } from '../kernel/errors.ts'
import type { CallId } from '../kernel/ids.ts'
import {
  type CompletionMessage,
  type Delta,
  deltaText,
  type FinishReason,
  isDelta,
  type TokenLogprob,
} from './completion.ts'
import { type NativeStop, nativeSize } from './native-message.ts'
import type { PicoText, Usage } from './usage.ts'

/** The frames that carry a completion from a worker to an API instance, and what is said the other way. */

/**
 * What a dispatch worker publishes to the API instance that waits for a call. Many frames, of many calls, travel in one
 * message: a JSON array of tuples, of which the first names the sender. Frames of one claim of one call are numbered
 * from 0; `generation` is the number of that claim, so frames of a worker that lost its claim are recognized. `run` names
 * what one worker does under one claim: a Redis that lost a claim gives its number away again. Absent in frames of an
 * earlier release.
 */
export type Frame = readonly [
  callId: CallId,
  generation: number,
  sequence: number,
  body: FrameBody,
  run?: string,
]

export type FrameBody =
  /** The first content is on its way; `candidate` indexes the envelope's candidates. */
  | readonly ['open', candidate: number]
  | Delta
  | FinishFrame
  | WholeFrame
  /** The call failed, or a stream broke after content. Ends the call. */
  | readonly ['error', FrameError]
  /** A worker claimed this call again after another stalled, and asks what the client has received. Not numbered (-1). */
  | readonly ['takeover']
  /** First in every message: its sender's id stands in the place of the call's. Not numbered. */
  | readonly ['from']
  /** What was asked for again has been sent, as far as it is kept. Not numbered. */
  | readonly ['caught-up']

/** A stream's truthful end. */
export type FinishFrame = readonly [
  'finish',
  reason: FinishReason,
  usage: ReportedUsage | null,
  native?: NativeStop,
]

/** The whole answer of a non-streaming call. */
export type WholeFrame = readonly [
  'completion',
  candidate: number,
  message: CompletionMessage,
  reason: FinishReason,
  usage: ReportedUsage | null,
  native?: NativeStop,
]

/** What clients are told that a completion used. */
export interface ReportedUsage extends Usage {
  /** Of extended calls, where the provider reports it: so many of the completion tokens were reasoning. */
  reasoningTokens?: number
  /** Of extended calls: what the call is charged. */
  chargePico?: PicoText
}

/** A last frame whose usage says what the call is charged. */
export function withCharge(last: FrameBody, chargePico: PicoText): FrameBody {
  const told = (usage: ReportedUsage | null) => usage && { ...usage, chargePico }
  switch (last[0]) {
    case 'finish':
      return [last[0], last[1], told(last[2])]
    case 'completion':
      return [last[0], last[1], last[2], last[3], told(last[4])]
    default:
      return last
  }
}

export interface FrameError {
  code: ErrorCode
  message: string
  /** The field of the request that is at fault. */
  param?: string
  retryAfterSeconds?: number
  shouldRetry?: boolean
}

/** True for the frame after which no other comes. */
export const endsCall = (body: FrameBody): boolean =>
  body[0] === 'finish' || body[0] === 'completion' || body[0] === 'error'

/** A message for a reply channel. One without frames is a heartbeat, and may carry a number. */
export const encodeFrames = (sender: string, frames: readonly Frame[], number = -1): string =>
  JSON.stringify([openingFrame(sender, number), ...frames])

/** What every message begins with. */
export const openingFrame = (sender: string, number = -1): unknown => [sender, 0, number, ['from']]

/** What a message carries. One of an earlier release does not say from whom it is. */
export function decodeFrames(message: string): { from?: string; number: number; frames: Frame[] } {
  const frames = JSON.parse(message) as Frame[]
  if (frames[0]?.[3][0] !== 'from') return { number: -1, frames }
  const [from, , number] = frames.shift()!
  return { from, number, frames }
}

/** A message carries no more, unless it is one frame: of text a quarter of a megabyte at the most. */
export const MESSAGE_CHARS = 64 * 1024
/** What the numbers of a frame take there. */
const NUMBERS_CHARS = 64

/** Frames of one channel, in their order, as messages of bounded length. */
export function* inPieces(frames: readonly Frame[]): Iterable<readonly Frame[]> {
  let [from, chars] = [0, 0]
  for (const [index, [, , , body]] of frames.entries()) {
    const size = sizeOf(body) + NUMBERS_CHARS
    if (chars > 0 && chars + size > MESSAGE_CHARS) {
      yield frames.slice(from, index)
      from = index
      chars = 0
    }
    chars += size
  }
  yield from === 0 ? frames : frames.slice(from)
}

const FIELDS_CHARS = 16

/** About the characters of a frame as JSON. Cheap, since most frames are a token. */
export function sizeOf(body: FrameBody): number {
  if (body[0] === 'logprobs') return logprobsChars(body[1]) + FIELDS_CHARS
  if (body[0] === 'native') return nativeSize(body[1])
  if (body[0] !== 'completion') return charsOf(body) + FIELDS_CHARS
  const { content, refusal, tool_calls, reasoning, logprobs = [], native, result } = body[2]
  if (result !== undefined) return result.length + FIELDS_CHARS
  if (native) return JSON.stringify(native).length + FIELDS_CHARS
  const toolChars = tool_calls?.reduce((sum, call) => sum + call.function.arguments.length + FIELDS_CHARS, 0)
  const texts = [content, refusal, reasoning].reduce((sum, text) => sum + (text?.length ?? 0), 0)
  return texts + (toolChars ?? 0) + logprobsChars(logprobs) + FIELDS_CHARS
}

/** Of one token, its bytes and its probability. */
const LOGPROB_CHARS = 80
const logprobsChars = (tokens: readonly TokenLogprob[]): number =>
  tokens.reduce((sum, { top_logprobs: top }) => sum + (1 + top.length) * LOGPROB_CHARS, 0)

/**
 * What API instances tell workers: on a channel of the worker that has the call, or where they do not know which has,
 * on one that every worker hears.
 */
export type ControlMessage =
  /** The call ended before its answer did: abort the upstream and settle what its end makes due. */
  | { kind: 'cancel'; callId: CallId; ending: EarlyEnd }
  /** Frames of a run from `sequence` on did not arrive. */
  | ({ kind: 'resend'; callId: CallId; sequence: number } & RunOfCall)
  /**
   * A repeat of a call waits for its answer too: send its frames to `channel` as `label`, from `sequence` on
   * where it has heard the run before, else from the first. Sent again, it is a resend.
   */
  | ({ kind: 'attach'; callId: CallId; channel: string; label: CallId; sequence: number } & RunOfCall)
  /** The repeat waits no more. */
  | { kind: 'detach'; callId: CallId; label: CallId }
  /**
   * The answer to `takeover`. `delivered` is null when the client still waits and was delivered nothing. Unasked, it is
   * told to a run whose frames cannot follow upon what another has delivered.
   */
  | ({ kind: 'delivered'; callId: CallId; delivered: DeliveredPrefix | null } & RunOfCall)

/** One run of a call; the name is absent where an earlier release sent its frames, or none came yet. */
export interface RunOfCall {
  /** The number of its claim; 0 while no run was heard of. */
  generation: number
  run?: string | undefined
}

/** Whether two names are of one run, as far as is known. */
export const isSameRun = (one: RunOfCall, other: RunOfCall): boolean =>
  one.generation === other.generation &&
  (one.run === undefined || other.run === undefined || one.run === other.run)

/** What the gateway's own failure leaves of a call: its client pays for no more than the text it was sent. */
export interface GatewayFailure {
  code: ErrorCode
  /** Characters of the answer that its client was sent. */
  deliveredChars: number
}

/** Who ended a call before its answer did. A client that left pays for what was produced until then. */
export type EarlyEnd = { by: 'client' } | ({ by: 'gateway' } & GatewayFailure)

/** Characters of content in one frame. */
export const charsOf = (body: FrameBody): number => (isDelta(body) ? deltaText(body).length : 0)

/** What a client had received of an answer when its worker was lost, or its connection ended. */
export interface DeliveredPrefix {
  text: string
  /** Index of the candidate that served; null when nothing was delivered. */
  candidate: number | null
  /** The answer was delivered to its end, so its settlement was enqueued before. */
  finished: boolean
  /** Who ended the call before that; absent while its client waits. */
  ending?: EarlyEnd
}
