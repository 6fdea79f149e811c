import type { AttemptRequest } from '../provider.ts'

/**
 * The body of a request on the chat-completions wire. The answer is always streamed, for callers that do
 * not stream as well: silence is noticed early then, and a provider stops when the connection breaks.
 * Nothing but these fields is forwarded.
 */
export function requestBody({ offer, messages, parameters, completionLimit }: AttemptRequest): string {
  return JSON.stringify({
    model: offer.upstreamModel,
    messages,
    stream: true,
    stream_options: { include_usage: true },
    [offer.provider.limitParameter]: completionLimit,
    temperature: parameters.temperature,
    top_p: parameters.top_p,
    tools: parameters.tools,
    response_format: parameters.response_format,
  })
}

/** The address of the wire's one call at a provider. */
export const requestUrl = ({ offer }: AttemptRequest): string => `${offer.provider.baseUrl}/chat/completions`

/** Header names and values in turn. `apiKey` is null where the provider needs none. */
export function requestHeaders(apiKey: string | null): string[] {
  const headers = [
    'content-type',
    'application/json',
    'accept',
    'text/event-stream, application/json',
    // A compressed stream is held back by the compressor; tokens should come as they are made.
    'accept-encoding',
    'identity',
  ]
  if (apiKey !== null) headers.push('authorization', `Bearer ${apiKey}`)
  return headers
}
