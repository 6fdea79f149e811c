/**
 * The pieces of an answer, after everything that could name a provider has been stripped. Worker, frames
 * and HTTP tier all speak this; only `render-reply.ts` turns it into bytes for clients.
 */
import type { Usage } from '../billing/pricing.ts'

/** A tool-call delta as on the chat-completions wire. */
export interface ToolCallDelta {
  index: number
  id?: string
  type?: 'function'
  function?: { name?: string; arguments?: string }
}

export interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

export const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'] as const
export type FinishReason = (typeof FINISH_REASONS)[number]

/** What a provider's stream says, in the order it says it. Produced by a wire's `stream.ts`. */
export type CompletionEvent =
  | { kind: 'text'; text: string }
  | { kind: 'refusal'; text: string }
  | { kind: 'tool-calls'; deltas: ToolCallDelta[] }
  | { kind: 'finish'; reason: FinishReason }
  /** `reasoningTokens`: so many of the completion tokens are none of its text, where the provider says so. */
  | { kind: 'usage'; usage: Usage; reasoningTokens?: number }
  /** Reasoning went by, so many bytes of it. It is never passed on. */
  | { kind: 'thinking'; bytes: number }

/** A whole answer, for non-streaming calls. */
export interface CompletionMessage {
  content: string | null
  refusal?: string
  tool_calls?: ToolCall[]
}
