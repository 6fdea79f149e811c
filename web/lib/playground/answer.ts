import type { StreamPart, StreamUsage, ToolCallPiece } from '../completion-stream.ts'

export interface ToolCall {
  id: string
  name: string
  /** JSON as the model wrote it. */
  arguments: string
  /** What the tool returned, typed by the reader; null: not yet. */
  result: string | null
}

/** What one call brought. */
export interface Answer {
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

export const WAITING: Answer = {
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

export const isRunning = ({ phase }: Answer): boolean => phase === 'waiting' || phase === 'streaming'

/** Whether it waits for results of tools. A broken answer does not: its calls may be cut off. */
export const wantsResults = ({ phase, toolCalls }: Answer): boolean =>
  phase === 'done' && toolCalls.some(({ result }) => result === null)

/** An answer that was left while it ran; what it had until then stays. */
export const interrupted = (answer: Answer): Answer =>
  isRunning(answer) ? { ...answer, phase: 'stopped' } : answer

/** The answer with one more part of its stream. `done` and `error` end it; the caller says when. */
export function withPart(answer: Answer, part: StreamPart, elapsedMs: number): Answer {
  const callId = part.callId ?? answer.callId
  const begun = { callId, phase: 'streaming' as const, firstTokenMs: answer.firstTokenMs ?? elapsedMs }
  switch (part.kind) {
    case 'text':
      return { ...answer, ...begun, text: answer.text + part.text }
    case 'reasoning':
      return { ...answer, ...begun, reasoning: answer.reasoning + part.text }
    case 'tool-calls':
      return { ...answer, ...begun, toolCalls: part.calls.reduce(withPiece, answer.toolCalls) }
    case 'finish':
      return { ...answer, callId, finishReason: part.reason }
    case 'usage':
      return { ...answer, callId, usage: part.usage }
    case 'error':
      return { ...answer, callId, error: part.message }
    case 'done':
      return answer
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
