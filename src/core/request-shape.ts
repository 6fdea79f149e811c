import type { ChatMessage, ChatRequest } from './chat-request.ts'

/** What a request demands of a model, apart from what it says. */
export interface RequestShape {
  /** Input modalities that occur in the messages, always with `text`. */
  modalities: string[]
  /** Parameters in use that a model may or may not support, named as in the catalog. */
  parameters: string[]
  /** No tokenizer makes fewer tokens of the text than this. */
  promptTokensAtLeast: number
}

const MODALITY_OF_PART: Record<string, string> = {
  image_url: 'image',
  input_image: 'image',
  input_audio: 'audio',
  video_url: 'video',
  file: 'file',
}

/** Even repetitive text takes a token every so many characters in today's vocabularies. */
const MAX_CHARS_PER_TOKEN = 16

/** Reads the demands of a request off its messages and parameters. */
export function requestShape(request: ChatRequest): RequestShape {
  const modalities = new Set(['text'])
  let characters = 0
  for (const message of request.messages) {
    characters += textLength(message)
    if (typeof message.content === 'string') continue
    for (const part of message.content) modalities.add(MODALITY_OF_PART[String(part.type)] ?? 'text')
  }
  return {
    modalities: [...modalities],
    parameters: Object.keys(request.parameters),
    promptTokensAtLeast: Math.floor(characters / MAX_CHARS_PER_TOKEN),
  }
}

/** Characters of text in a message. */
export function textLength({ content }: ChatMessage): number {
  if (typeof content === 'string') return content.length
  return content.reduce((sum, part) => sum + (typeof part.text === 'string' ? part.text.length : 0), 0)
}
