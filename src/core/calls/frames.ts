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
import { type NativeStop, nativeSize } from './messages-wire.ts'
import type { PicoText, Usage } from './usage.ts'

/** The frames that carry a completion from a worker to an API instance, and the control messages in the other direction. */

/**
 * A message from a dispatch worker to the API instance that waits for a call. One message carries many frames, of many
 * calls: a JSON array of tuples, of which the first names the sender. Frames of one claim of one call are numbered from
 * 0; `generation` is the number of that claim, which reveals frames of a worker that lost its claim. `run` identifies
 * one worker's run under one claim, because a Redis that lost a claim reuses its number.
 */
export type Frame = readonly [
  callId: CallId,
  generation: number,
  sequence: number,
  body: FrameBody,
  run: string,
]

export type FrameBody =
  /** The first content follows; `candidate` is an index into the envelope's candidates. */
  | readonly ['open', candidate: number]
  | Delta
  /** Consecutive texts, each a delta of its own. */
  | readonly ['texts', texts: readonly string[]]
  | FinishFrame
  | WholeFrame
  /** The call failed, or a stream broke after content. Ends the call. */
  | readonly ['error', FrameError]
  /** A worker claimed this call after another stalled, and asks what the client has received. Not numbered (-1). */
  | readonly ['takeover']
  /** A worker whose claim was lost while it ended the call asks whether the client received that end. Not numbered (-1). */
  | readonly ['was-ended']
  /** First in every message, with the sender's id in place of the call's. Not numbered. */
  | readonly ['from']
  /** The requested frames have been sent again, as far as they are kept. Not numbered. */
  | readonly ['caught-up']

/** The proper end of a stream. */
export type FinishFrame = readonly [
  'finish',
  reason: FinishReason,
  usage: ReportedUsage | null,
  native?: NativeStop,
]

/** The complete response of a non-streaming call. */
export type WholeFrame = readonly [
  'completion',
  candidate: number,
  message: CompletionMessage,
  reason: FinishReason,
  usage: ReportedUsage | null,
  native?: NativeStop,
]

/** The usage of a completion as reported to clients. */
export interface ReportedUsage extends Usage {
  /** For extended calls, if the provider reports it: the part of the completion tokens that is reasoning. */
  reasoningTokens?: number
  /** For extended calls that ask for a service tier: the one that was served and is charged. */
  tier?: string
  /** For extended calls: the charge of the call. */
  chargePico?: PicoText
}

export interface FrameError {
  code: ErrorCode
  message: string
  /** The field of the request at fault. */
  param?: string
  retryAfterSeconds?: number
  shouldRetry?: boolean
  metadata?: Record<string, string>
}

/** True for a frame that no other follows. */
export const endsCall = (body: FrameBody): boolean =>
  body[0] === 'finish' || body[0] === 'completion' || body[0] === 'error'

/** A message for a reply channel. One without frames is a heartbeat, and may have a number. */
export const encodeFrames = (sender: string, frames: readonly Frame[], number = -1): string =>
  JSON.stringify([openingFrame(sender, number), ...frames])

/** The start of every message. */
export const openingFrame = (sender: string, number = -1): unknown => [sender, 0, number, ['from']]

/** Parses a message. */
export function decodeFrames(message: string): { from: string; number: number; frames: Frame[] } {
  const frames = JSON.parse(message) as Frame[]
  const [from, , number] = frames.shift()!
  return { from, number, frames }
}

/** Maximum length of a message, unless it is one frame: text of at most a quarter of a megabyte. */
export const MESSAGE_CHARS = 64 * 1024
/** Characters of the numbers of a frame. */
const NUMBERS_CHARS = 64

/** Splits the frames of one channel into messages of bounded length, in order. */
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
/** Quotes and comma of a text among others. */
export const TEXT_CHARS = 3

/** The approximate characters of a frame as JSON. Cheap, since most frames are a token. */
export function sizeOf(body: FrameBody): number {
  if (body[0] === 'logprobs') return logprobsChars(body[1]) + FIELDS_CHARS
  if (body[0] === 'annotations' || body[0] === 'signed' || body[0] === 'hosted')
    return JSON.stringify(body[1]).length + FIELDS_CHARS
  if (body[0] === 'native') return nativeSize(body[1])
  if (body[0] === 'texts') return frameText(body).length + body[1].length * TEXT_CHARS + FIELDS_CHARS
  if (body[0] !== 'completion') return frameText(body).length + FIELDS_CHARS
  const {
    content,
    refusal,
    tool_calls,
    reasoning,
    signed,
    logprobs = [],
    annotations,
    hosted,
    native,
    result,
  } = body[2]
  if (result !== undefined) return result.length + FIELDS_CHARS
  if (native) return JSON.stringify(native).length + FIELDS_CHARS
  const toolChars = tool_calls?.reduce((sum, call) => sum + call.function.arguments.length + FIELDS_CHARS, 0)
  const texts = [content, refusal, reasoning].reduce((sum, text) => sum + (text?.length ?? 0), 0)
  const noted = annotations || signed || hosted ? JSON.stringify([annotations, signed, hosted]).length : 0
  return texts + (toolChars ?? 0) + logprobsChars(logprobs) + noted + FIELDS_CHARS
}

/** For one token, its bytes and its probability. */
const LOGPROB_CHARS = 80
const logprobsChars = (tokens: readonly TokenLogprob[]): number =>
  tokens.reduce((sum, { top_logprobs: top }) => sum + (1 + top.length) * LOGPROB_CHARS, 0)

/**
 * Messages from an API instance to the worker that has the call, on the worker's channel.
 */
export type ControlMessage =
  /** The call ended before its completion: abort the upstream request and settle what is due. */
  | { kind: 'cancel'; callId: CallId; ending: EarlyEnd }
  /** Frames of a run from `sequence` on did not arrive. */
  | ({ kind: 'resend'; callId: CallId; sequence: number } & RunOfCall)
  /**
   * A repeat of a call also waits for its response: send its frames to `channel` with the listener id `label`, from `sequence` on if it
   * has received frames of the run before, otherwise from the first. Sent again, it is a resend.
   */
  | ({ kind: 'attach'; callId: CallId; channel: string; label: CallId; sequence: number } & RunOfCall)
  /** The repeat no longer waits. */
  | { kind: 'detach'; callId: CallId; label: CallId }
  /**
   * The response to `takeover`. `delivered` is null if the client still waits and received nothing. Also sent without a
   * request, to a run whose frames cannot follow those that another run delivered.
   */
  | ({ kind: 'delivered'; callId: CallId; delivered: DeliveredPrefix | null } & RunOfCall)

/** One run of a call. The name is absent before the first frame. */
export interface RunOfCall {
  /** The number of its claim; 0 before the first frame. */
  generation: number
  run?: string | undefined
}

/** Whether two names are of one run, as far as is known. */
export const isSameRun = (one: RunOfCall, other: RunOfCall): boolean =>
  one.generation === other.generation &&
  (one.run === undefined || other.run === undefined || one.run === other.run)

/** An error of the gateway that ended a call: its client pays only for the text it was sent. */
export interface GatewayFailure {
  code: ErrorCode
  /** Characters of the completion that its client was sent. */
  deliveredChars: number
}

/** Who ended a call before its completion. A client that left pays for the output produced until then. */
export type EarlyEnd = { by: 'client' } | ({ by: 'gateway' } & GatewayFailure)

/** The content in one frame, as text. */
export function frameText(body: FrameBody): string {
  if (body[0] === 'texts') return body[1].join('')
  return isDelta(body) ? deltaText(body) : ''
}

/** What a client had received when its worker was lost, or its connection ended. */
export interface DeliveredPrefix {
  text: string
  /** Index of the candidate that served; null if nothing was delivered. */
  candidate: number | null
  /** The response was delivered to its end, so its settlement was enqueued before. */
  finished: boolean
  /** The run that ended a finished call; absent if the API instance ended it. */
  endedBy?: string | undefined
  /** Who ended the call before its completion; absent while its client waits. */
  ending?: EarlyEnd
  /** No API instance answered: this states nothing of what the client received. Never in a message. */
  isUnanswered?: true
}
