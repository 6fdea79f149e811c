import type { ProviderClient } from '../provider.ts'
import type { RegistryOptions } from '../registry.ts'
import { requestHeaders } from '../request-headers.ts'
import { createWireClient } from '../wire-client.ts'
import type { WireMapping } from '../wire-mapping.ts'
import { failureOfErrorObject, failureOfStatus } from './error-map.ts'
import { ANTHROPIC_VERSION, prefillSpace, requestBody, requestUrl } from './request.ts'
import { MessagesReader } from './stream.ts'

const ANTHROPIC_MESSAGES: WireMapping = {
  request: (request, apiKey) => ({
    url: requestUrl(request),
    headers: [
      ...requestHeaders(request.offer.provider, apiKey, 'x-api-key'),
      'anthropic-version',
      ANTHROPIC_VERSION,
    ],
    body: requestBody(request),
  }),
  openAnswer: (request) => new MessagesReader(prefillSpace(request)),
  failureOfStatus,
  failureOfErrorObject,
}

/** The client of Anthropic's messages wire. */
export const createAnthropicMessagesClient = (options: RegistryOptions): ProviderClient =>
  createWireClient(ANTHROPIC_MESSAGES, options)
