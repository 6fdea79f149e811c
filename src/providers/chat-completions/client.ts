import type { ProviderClient } from '../provider.ts'
import type { RegistryOptions } from '../registry.ts'
import { requestHeaders } from '../request-headers.ts'
import { createWireClient } from '../wire-client.ts'
import type { AnswerReader, WireMapping } from '../wire-mapping.ts'
import { failureOfErrorObject, failureOfStatus } from './error-map.ts'
import { requestBody, requestUrl } from './request.ts'
import { readStreamEvent, readWholeReply } from './stream.ts'

/** Its events stand for themselves, so that one reader serves every answer. */
const READER: AnswerReader = { event: readStreamEvent, whole: readWholeReply }

const CHAT_COMPLETIONS: WireMapping = {
  request: (request, apiKey) => ({
    url: requestUrl(request),
    headers: requestHeaders(request.offer.provider, apiKey, 'authorization'),
    body: requestBody(request),
  }),
  openAnswer: () => READER,
  failureOfStatus,
  failureOfErrorObject,
}

/** The client of the chat-completions wire. */
export const createChatCompletionsClient = (options: RegistryOptions): ProviderClient =>
  createWireClient(CHAT_COMPLETIONS, options)
