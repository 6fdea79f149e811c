import type { ProviderQuirks } from '../../../src/core/catalog.ts'
import type { ChatMessage, SamplingParameters } from '../../../src/core/chat-request.ts'
import { jsonInstruction } from '../json-instruction.ts'
import type { AttemptRequest } from '../provider.ts'
import { samplingFor } from '../sampling.ts'

const NO_QUIRKS: ProviderQuirks = {}

/**
 * The body of a request on the chat-completions wire. The answer is always streamed, for callers that do
 * not stream as well: silence is noticed early then, and a provider stops when the connection breaks.
 * Nothing but these fields is forwarded.
 */
export function requestBody(request: AttemptRequest): string {
  const { offer, messages, parameters, completionLimit } = request
  const { limitParameter, quirks = NO_QUIRKS } = offer.provider
  const { temperature, topP } = samplingFor(request)
  const body: Record<string, unknown> = {
    ...quirks.fixedFields,
    model: offer.upstreamModel,
    messages: messagesFor(messages, parameters, quirks),
    stream: true,
    stream_options: { include_usage: true },
    [limitParameter]: completionLimit,
    temperature,
    top_p: topP,
    tools: parameters.tools,
    response_format: losesSchema(parameters, quirks) ? { type: 'json_object' } : parameters.response_format,
  }
  for (const field of quirks.omit ?? []) delete body[field]
  return JSON.stringify(body)
}

const losesSchema = ({ response_format: format }: SamplingParameters, { jsonObjectOnly }: ProviderQuirks) =>
  jsonObjectOnly === true && format?.type === 'json_schema'

function messagesFor(
  messages: readonly ChatMessage[],
  parameters: SamplingParameters,
  quirks: ProviderQuirks,
): readonly unknown[] {
  const { namedRoles, prefillField } = quirks
  let sent: readonly ChatMessage[] = messages
  if (namedRoles) {
    sent = sent.map(({ name, ...message }) =>
      name !== undefined && namedRoles.includes(message.role) ? { ...message, name } : message,
    )
  }
  if (losesSchema(parameters, quirks)) {
    sent = [{ role: 'system', content: jsonInstruction(parameters.response_format)! }, ...sent]
  }
  const last = sent.at(-1)
  return prefillField && last?.role === 'assistant'
    ? [...sent.slice(0, -1), { ...last, [prefillField]: true }]
    : sent
}

/** The address of the wire's one call at a provider. */
export const requestUrl = ({ offer: { provider } }: AttemptRequest): string =>
  provider.baseUrl + (provider.quirks?.path ?? '/chat/completions')
