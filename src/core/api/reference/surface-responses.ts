import { ChatCompletionBody, ExtendedCompletionBody } from '../completions/chat-completion.ts'
import { MessageBody } from '../completions/message.ts'
import {
  CompactedResponse,
  DeletedResponse,
  ResponseBody,
  ResponseInputItems,
} from '../completions/response.ts'
import type { SurfaceId } from '../surfaces/surface-registry.ts'
import { referencesOf } from './kind-references.ts'
import { ChatEvents, ExtendedEvents, eventSchema, MessagesEvents, ResponsesEvents } from './stream-events.ts'
import type { DescribedResponse } from './surface-reference.ts'

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
  'responses.get': streamed('The response', 'typed events', ResponseBody, ResponsesEvents),
  'responses.cancel': json('The response', ResponseBody),
  'responses.compact': json('The shorter input', CompactedResponse),
  'responses.delete': json('The response is deleted', DeletedResponse),
  'responses.input-items': json('The items', ResponseInputItems),
  ...referencesOf('response'),
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
