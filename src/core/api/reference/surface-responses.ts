import { ChatCompletionBody, ExtendedCompletionBody } from '../completions/chat-completion.ts'
import { MessageBody } from '../completions/message.ts'
import { ResponseBody } from '../completions/response.ts'
import {
  EmbeddingsAnswer,
  ImagesAnswer,
  ModerationsAnswer,
  RerankAnswer,
  TranscriptAnswer,
} from '../completions/task-answers.ts'
import type { SurfaceId } from '../surfaces/surface-registry.ts'
import { ChatEvents, ExtendedEvents, eventSchema, MessagesEvents, ResponsesEvents } from './stream-events.ts'

/** A response of an OpenAPI operation. */
export interface DescribedResponse {
  description: string
  content: Record<string, { schema: object; example?: unknown }>
}

/** Responses that no route's schema describes completely: they are serialized elsewhere, or in a requested form. */
export const SURFACE_RESPONSES: Readonly<Partial<Record<SurfaceId, DescribedResponse>>> = {
  'chat-completions': streamed('The completion', 'events until `[DONE]`', ChatCompletionBody, ChatEvents),
  'chat-completions.extended': streamed(
    'The completion',
    'events until `[DONE]`',
    ExtendedCompletionBody,
    ExtendedEvents,
  ),
  messages: streamed('The message', 'named events until `message_stop`', MessageBody, MessagesEvents),
  responses: streamed(
    'The response',
    'typed events until `response.completed`, `response.incomplete` or `response.failed`',
    ResponseBody,
    ResponsesEvents,
  ),
  embeddings: json('The vectors, in the order of the inputs', EmbeddingsAnswer),
  rerank: json('The documents, the most relevant first', RerankAnswer),
  moderations: json('The verdicts', ModerationsAnswer),
  'images.generations': json('The images', ImagesAnswer),
  'images.edits': json('The images', ImagesAnswer),
  'audio.speech': {
    description: 'The speech, in the requested format',
    content: { 'audio/*': { schema: { type: 'string', format: 'binary' } } },
  },
  'audio.transcriptions': transcript('The transcript'),
  'audio.translations': transcript('The transcript, in English'),
}

function json(description: string, schema: object): DescribedResponse {
  return { description, content: { 'application/json': { schema } } }
}

/** With `stream: true`, server-sent events; the schema describes one event. */
function streamed(what: string, events: string, schema: object, data: object): DescribedResponse {
  return {
    description: `${what}; with \`stream\`, server-sent ${events}`,
    content: { 'application/json': { schema }, 'text/event-stream': { schema: eventSchema(data) } },
  }
}

function transcript(description: string): DescribedResponse {
  const { content } = json(description, TranscriptAnswer)
  return { description, content: { ...content, 'text/plain': { schema: { type: 'string' } } } }
}
