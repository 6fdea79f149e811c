import type { StreamPart, StreamUsage, ToolCallPiece } from '../completion-stream.ts'

export interface ToolCall {
  id: string
  name: string
  /** JSON as the model wrote it. */
  arguments: string
  /** What the tool returned, typed by the reader; null: not yet. */
  result: string | null
}

/** The completion of one call. */
export interface Completion {
  /**
   * waiting (sent, nothing received yet) → streaming → done, failed (refused, or broke off: see `error`) or stopped (by
   * the reader).
   */
  phase: 'waiting' | 'streaming' | 'done' | 'failed' | 'stopped'
  text: string
  reasoning: string
  toolCalls: ToolCall[]
  callId: string | null
  /** Output tokens that a short balance or budget left of the limit. Absent: it covered all. */
  affordedLimit?: number
  /** From sending to the first text, reasoning or tool call, as this browser saw it. */
  firstTokenMs: number | null
  durationMs: number | null
  finishReason: string | null
  usage: StreamUsage | null
  error: string | null
}

export const WAITING: Completion = {
  phase: 'waiting',
  text: '',
  reasoning: '',
  toolCalls: [],
  callId: null,
  firstTokenMs: null,
  durationMs: null,
  finishReason: null,
  usage: null,
  error: null,
}

export const isRunning = ({ phase }: Completion): boolean => phase === 'waiting' || phase === 'streaming'

/** Whether results of tool calls are to be entered. Not for an incomplete stream, whose calls may be cut off. */
export const wantsResults = ({ phase, toolCalls }: Completion): boolean =>
  phase === 'done' && toolCalls.some(({ result }) => result === null)

/** Marks a running completion as stopped; its text is kept. */
export const interrupted = (completion: Completion): Completion =>
  isRunning(completion) ? { ...completion, phase: 'stopped' } : completion

/** The completion with one more part of its stream. `done` and `error` end it; the caller says when. */
export function withPart(completion: Completion, part: StreamPart, elapsedMs: number): Completion {
  const callId = part.callId ?? completion.callId
  const begun = { callId, phase: 'streaming' as const, firstTokenMs: completion.firstTokenMs ?? elapsedMs }
  switch (part.kind) {
    case 'text':
      return { ...completion, ...begun, text: completion.text + part.text }
    case 'reasoning':
      return { ...completion, ...begun, reasoning: completion.reasoning + part.text }
    case 'tool-calls':
      return { ...completion, ...begun, toolCalls: part.calls.reduce(withPiece, completion.toolCalls) }
    case 'finish':
      return { ...completion, callId, finishReason: part.reason }
    case 'usage':
      return { ...completion, callId, usage: part.usage }
    case 'error':
      return { ...completion, callId, error: part.message }
    case 'done':
      return completion
    default:
      return part satisfies never
  }
}

function withPiece(calls: ToolCall[], piece: ToolCallPiece): ToolCall[] {
  const known = calls[piece.index] ?? { id: '', name: '', arguments: '', result: null }
  const call = {
    ...known,
    id: piece.id ?? known.id,
    name: piece.name ?? known.name,
    arguments: known.arguments + piece.arguments,
  }
  return Object.assign([...calls], { [piece.index]: call })
}
