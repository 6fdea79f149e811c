import type { ProviderClient } from '../provider.ts'
import type { RegistryOptions } from '../registry.ts'
import { requestHeaders } from '../request-headers.ts'
import { createWireClient } from '../wire-client.ts'
import type { WireMapping } from '../wire-mapping.ts'
import { failureOfErrorObject, failureOfStatus } from './error-map.ts'
import { requestBody, requestUrl } from './request.ts'
import { GenerateContentReader } from './stream.ts'

const GOOGLE_GENERATE_CONTENT: WireMapping = {
  request: (request, apiKey) => ({
    url: requestUrl(request),
    headers: requestHeaders(request.offer.provider, apiKey, 'x-goog-api-key'),
    body: requestBody(request),
  }),
  openAnswer: () => new GenerateContentReader(),
  failureOfStatus,
  failureOfErrorObject,
}

/** The client of Google's generate-content wire. */
export const createGoogleGenerateContentClient = (options: RegistryOptions): ProviderClient =>
  createWireClient(GOOGLE_GENERATE_CONTENT, options)
