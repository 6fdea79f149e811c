import type { CompletionMessage, Delta, ToolCallDelta } from '../calls/completion.ts'
import type { FrameBody } from '../calls/frames.ts'
import type { Kind } from '../calls/kinds/call-kinds.ts'
import type { Transcript } from '../calls/kinds/transcription.ts'
import { isToolCall, type NativeBlock } from '../calls/messages-wire.ts'
import type { GuardedText } from './guardrail.ts'

/** The texts that replace those of an answer, by the part that they are of: `text`, `call 0`, `block 2`. */
export type ReplacedParts = Map<string, string>

/**
 * The texts of an answer, with the arguments of its tool calls. What replaces them is noted in `parts`. What tools of the
 * provider found, citations and signed reasoning are shown, and cannot be replaced.
 */
export function answerTexts(message: CompletionMessage, kind: Kind, parts: ReplacedParts): GuardedText[] {
  const texts: GuardedText[] = []
  const add = (part: string, text: string | null | undefined, { isFixed = false, isJson = false } = {}) => {
    if (!text) return
    const replace = (replacing: string) => void parts.set(part, replacing)
    texts.push({ text, ...(!isFixed && { replace }), isJson })
  }
  add('reasoning', message.reasoning, { isFixed: message.signed !== undefined })
  add('text', message.content)
  add('refusal', message.refusal)
  for (const [index, call] of (message.tool_calls ?? []).entries())
    add(`call ${index}`, call.function.arguments, { isJson: true })
  for (const [index, block] of (message.native ?? []).entries()) {
    const { text, ...how } = blockText(block)
    add(`block ${index}`, text, how)
  }
  for (const json of [message.annotations, message.hosted])
    if (json) add('', JSON.stringify(json), { isFixed: true })
  // Other results are vectors, scores and files.
  if (message.result !== undefined && kind === 'transcription') {
    const [{ text }] = JSON.parse(message.result) as [Transcript]
    add('result', text)
  }
  return texts
}

function blockText(block: NativeBlock): { text?: string; isFixed?: boolean; isJson?: boolean } {
  if (block.type === 'text') return { text: block.text }
  if (block.type === 'thinking') return { text: block.thinking, isFixed: block.signature !== '' }
  if (isToolCall(block)) return { text: block.json, isJson: true }
  return block.type === 'whole' ? { text: JSON.stringify(block.block), isFixed: true } : {}
}

/** A message with replaced texts, without what else was said of these. */
export function replacedMessage(message: CompletionMessage, parts: ReplacedParts): CompletionMessage {
  const changed = { ...message }
  const content = parts.get('text')
  if (content !== undefined) {
    changed.content = content
    delete changed.logprobs
    delete changed.annotations
    if (message.hosted)
      changed.hosted = message.hosted.map(({ item, at }) => ({ item, at: at === 0 ? 0 : content.length }))
  }
  for (const name of ['refusal', 'reasoning'] as const) {
    const text = parts.get(name)
    if (text !== undefined) changed[name] = text
  }
  changed.tool_calls &&= changed.tool_calls.map((call, index) => {
    const json = parts.get(`call ${index}`)
    return json === undefined ? call : { ...call, function: { ...call.function, arguments: json } }
  })
  changed.native &&= changed.native.map((block, index) => withText(block, parts.get(`block ${index}`)))
  const text = parts.get('result')
  if (text !== undefined) {
    const [result] = JSON.parse(message.result!) as [Transcript]
    changed.result = JSON.stringify([{ ...result, text, segments: [], words: [] }])
  }
  return changed
}

function withText(block: NativeBlock, text: string | undefined): NativeBlock {
  if (text === undefined) return block
  if (block.type === 'text') return { type: 'text', text }
  if (block.type === 'thinking') return { ...block, thinking: text }
  return isToolCall(block) ? { ...block, json: text } : block
}

/**
 * The frames of a stream with replaced texts, each at the place of its first piece; without what else was said of these.
 * @param calls the indexes of its tool calls, in order
 */
export function replacedFrames(
  frames: readonly FrameBody[],
  parts: ReplacedParts,
  calls: readonly number[],
): FrameBody[] {
  const left = new Map(parts)
  /** The text at the first piece of a part, then none. */
  const next = (part: string): string => {
    const text = left.get(part) ?? ''
    left.set(part, '')
    return text
  }
  const callPiece = (delta: ToolCallDelta): ToolCallDelta => {
    const part = `call ${calls.indexOf(delta.index)}`
    if (!parts.has(part) || delta.function?.arguments === undefined) return delta
    return { ...delta, function: { ...delta.function, arguments: next(part) } }
  }
  const replaced = (frame: FrameBody): FrameBody | null => {
    switch (frame[0]) {
      case 'text':
      case 'refusal':
      case 'reasoning': {
        if (!parts.has(frame[0])) return frame
        const text = next(frame[0])
        return text === '' ? null : [frame[0], text]
      }
      case 'logprobs':
      case 'annotations':
        return parts.has('text') ? null : frame
      case 'tool-calls':
        return ['tool-calls', frame[1].map(callPiece)]
      case 'native':
        return nativePiece(frame, parts, next)
      case 'result':
        return parts.has('result')
          ? ['result', replacedMessage({ content: null, result: frame[1] }, parts).result!]
          : frame
      default:
        return frame
    }
  }
  return frames.map(replaced).filter((frame) => frame !== null)
}

function nativePiece(
  frame: Extract<Delta, readonly ['native', unknown]>,
  parts: ReplacedParts,
  next: (part: string) => string,
): FrameBody | null {
  const [, event] = frame
  if (event.type !== 'content_block_delta') return frame
  const part = `block ${event.index}`
  if (!parts.has(part)) return frame
  if (event.delta.type === 'citations_delta') return null
  const text = next(part)
  if (text === '') return null
  const { type } = event.delta
  if (type === 'text_delta') return ['native', { ...event, delta: { type, text } }]
  if (type === 'thinking_delta') return ['native', { ...event, delta: { type, thinking: text } }]
  return type === 'input_json_delta' ? ['native', { ...event, delta: { type, partial_json: text } }] : frame
}
