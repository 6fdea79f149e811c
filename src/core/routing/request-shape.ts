import type { ChatMessage, ChatRequest } from '../calls/chat-request.ts'
import { isAddress } from '../calls/content-part.ts'
import type { Model, PricedMedia } from '../catalog/catalog.ts'

/** What a request demands of a model, apart from what it says. */
export interface RequestShape {
  /** Input modalities that occur in the messages, always with `text`. */
  modalities: string[]
  /** Modalities of media that is sent by address and has no size that is known before it is fetched. */
  byAddress: Array<'file' | 'video'>
  /** Parameters in use that a model may or may not support, named as in the catalog. */
  parameters: string[]
  /** No tokenizer makes fewer tokens of the text than this. */
  promptTokensAtLeast: number
}

/** Even repetitive text takes a token every so many characters in today's vocabularies. */
const MAX_CHARS_PER_TOKEN = 16

/** Reads the demands of a request off its messages and parameters. */
export function requestShape(request: ChatRequest): RequestShape {
  const parts = request.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const byAddress = new Set<'file' | 'video'>()
  for (const part of parts) {
    if ((part.type === 'file' || part.type === 'video') && isAddress(part.source)) byAddress.add(part.type)
  }
  return {
    modalities: modalitiesOf(request),
    byAddress: [...byAddress],
    parameters: Object.keys(request.parameters),
    promptTokensAtLeast: Math.floor(charactersIn(request) / MAX_CHARS_PER_TOKEN),
  }
}

const charactersIn = ({ messages }: ChatRequest): number =>
  messages.reduce((sum, message) => sum + textLength(message), 0)

function modalitiesOf({ messages }: Pick<ChatRequest, 'messages'>): string[] {
  const modalities = new Set(['text'])
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const part of content) modalities.add(part.type)
  }
  return [...modalities]
}

/** The kinds of content in a prompt as one word: `text`, or `image+text`. */
export const contentKindsOf = (request: Pick<ChatRequest, 'messages'>): string =>
  modalitiesOf(request).sort().join('+')

/** Characters of text in a message. */
export function textLength({ content }: ChatMessage): number {
  if (typeof content === 'string') return content.length
  return content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
}

/** What of the input may have a price of its own: a video has sound and pictures, a document may have pictures. */
export function pricedMediaOf({ modalities }: RequestShape): PricedMedia[] {
  const among = (...names: string[]) => names.some((name) => modalities.includes(name))
  return [
    ...(among('audio', 'video') ? (['audio'] as const) : []),
    ...(among('image', 'video', 'file') ? (['image'] as const) : []),
  ]
}

/** Whether a model takes every kind of input of a request, and each in the way it is sent. */
export const takesInput = (model: Model, { modalities, byAddress }: RequestShape): boolean =>
  modalities.every((modality) => model.inputModalities.includes(modality)) &&
  byAddress.every((modality) => model.media.byAddress.includes(modality))
