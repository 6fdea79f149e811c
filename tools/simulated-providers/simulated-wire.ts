import type { IncomingHttpHeaders } from 'node:http'
import type { PlanInput } from './response-plan.ts'
import type { SimulatedRequest } from './simulated-request.ts'

/** What a provider refuses a request with. */
export interface Refusal {
  status: number
  code?: 'context' | 'policy' | undefined
  retryAfterSeconds?: number | undefined
}

/** The events of one streamed completion, as the wire writes them; empty where it has none of a kind. */
export interface StreamEvents {
  comment: string
  /** What comes before the first token. */
  role: string
  /** One event a token: reasoning, text, refusal or a piece of a tool call. */
  tokens: string[]
  finish: string
  usage: string
  done: string
  malformed: string
  error: string
  /** The model made a call of a tool that the provider does not accept. */
  toolError: string
}

/** What the address of a request contains. */
export interface Addressed {
  /** The model, on wires that have it in the path. */
  model: string | null
  /** Whether the path asks for a stream, on wires where it does. */
  streams: boolean
}

/** A wire as a provider speaks it. */
export interface SimulatedWire {
  /** Null when the body is no request on this wire. */
  readRequest(body: unknown, addressed: Addressed, headers: IncomingHttpHeaders): SimulatedRequest | null
  hasKey(headers: IncomingHttpHeaders): boolean
  /** Headers by which such providers name themselves, none of which may reach a client. */
  ownHeaders(provider: string, id: string): Record<string, string>
  /** Whether the time to wait is in a header; otherwise it is in the error's body. */
  retryAfterInHeader: boolean
  /** The content type of streams whose events are bytes, a character each. Absent: they are server-sent events. */
  streamType?: string
  events(input: PlanInput): StreamEvents
  whole(input: PlanInput): string
  error(refusal: Refusal, provider: string, model: string): string
  modelList(models: readonly string[], provider: string): unknown
}

export const HTML_PAGE =
  '<!doctype html>\n<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\n'

/** A wire's errors by status or by reason; `other` is for every other status. */
export type ErrorTable = Record<string, readonly [type: string, text: string, code?: string]> & {
  other: readonly [type: string, text: string, code?: string]
}

/** The row of an error, with a text that names the provider and the model, as real ones do. */
export function errorRow(errors: ErrorTable, { status, code }: Refusal, provider: string, model: string) {
  const [type, text, errorCode] = errors[code ?? status] ?? errors.other
  return { type, message: `${text} (provider ${provider}, model ${model})`, code: errorCode }
}

const ABSURD_TOKENS = 1_000_000_000_000

/** Prompt and completion tokens as the behaviour reports them. */
export function reportedTokens({ completion, behaviour }: PlanInput): [prompt: number, completion: number] {
  const { promptTokens, completionTokens } = completion
  if (behaviour.usage === 'absurd') return [ABSURD_TOKENS, ABSURD_TOKENS]
  return behaviour.usage === 'negative'
    ? [-promptTokens, -completionTokens - 1]
    : [promptTokens + behaviour.preambleTokens, completionTokens]
}

/** Prompt tokens that came from a cache, as the last event reports them. */
export const lateCached = ({ completion, behaviour, cachedTokens = 0 }: PlanInput): number =>
  behaviour.cachesLate ? Math.trunc(completion.promptTokens / 3) : cachedTokens

/** Of every token the same probability, and of the likeliest beside it ever smaller ones; as chat-completions has them. */
export function tokenLogprobs(tokens: readonly string[], top: number) {
  const one = (token: string, logprob: number) => ({ token, logprob, bytes: [...Buffer.from(token)] })
  return tokens.map((token) => ({
    ...one(token, -0.25),
    top_logprobs: Array.from({ length: top }, (_, at) => one(at === 0 ? token : `other-${at}`, -0.25 - at)),
  }))
}
