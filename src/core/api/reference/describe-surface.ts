import { SURFACE_EXAMPLES } from '../surfaces/surface-examples.ts'
import type { Surface } from '../surfaces/surface-registry.ts'
import { isRepeatable } from './error-responses.ts'
import { ANSWER_EXAMPLES } from './response-examples.ts'
import type { DescribedResponse } from './surface-reference.ts'
import { SURFACE_RESPONSES } from './surface-responses.ts'

/** The fields of an operation of an OpenAPI document that are extended here. */
export interface DescribedOperation {
  parameters?: object[]
  requestBody?: { content: Record<string, { example?: unknown }> }
  responses: Record<
    string,
    { description?: string; headers?: object; content?: DescribedResponse['content'] }
  >
  security?: object[]
}

const headerParameter = (name: string, description: string, schema: object) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema,
})

/** Adds the responses of a surface, the headers of calls, and examples. */
export function describeSurface(operation: DescribedOperation, surface: Surface): void {
  const { id, handler } = surface
  const described = SURFACE_RESPONSES[id] ?? SURFACE_RESPONSES[handler]
  if (described) operation.responses[200] = copyOf(described)
  if (handler === 'usage' || handler === 'usage.calls')
    Object.assign(operation.responses[200]?.content ?? {}, { 'text/csv': { schema: { type: 'string' } } })
  if (isRepeatable(surface)) {
    operation.parameters = [
      ...(operation.parameters ?? []),
      headerParameter('Idempotency-Key', 'A repeat with the same key gets the response to the first call', {
        type: 'string',
        pattern: '^[\\x20-\\x7e]{1,255}$',
      }),
    ]
  }
  const asked = SURFACE_EXAMPLES[handler]?.body
  const request = operation.requestBody?.content['application/json']
  if (asked && request) request.example = asked
  const answered = ANSWER_EXAMPLES[id] ?? ANSWER_EXAMPLES[handler]
  const status = Object.keys(operation.responses).find((code) => code.startsWith('2'))
  const response = status && operation.responses[status]?.content?.['application/json']
  if (answered && response) response.example = answered
}

/** A copy, because examples are added to it. */
const copyOf = ({ description, content }: DescribedResponse): DescribedResponse => ({
  description,
  content: Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, { schema }])),
})

const text = (description: string) => ({ description, schema: { type: 'string' } })

/** Adds how a call without a key is paid (x402). */
export function describePayment(operation: DescribedOperation): void {
  operation.security = [...(operation.security ?? []), {}]
  operation.parameters = [
    ...(operation.parameters ?? []),
    headerParameter('PAYMENT-SIGNATURE', 'Pays for a call without an API key: a payment of x402, base64', {
      type: 'string',
    }),
  ]
  const refused = operation.responses[402]
  if (refused) {
    refused.description = `${refused.description}; \`payment_required\` for a call without an API key`
    refused.headers = {
      'PAYMENT-REQUIRED': text('For a call without an API key: how to pay for it by x402, JSON in base64'),
      'PAYMENT-RESPONSE': text('Where a payment was refused when it was to be settled: why, JSON in base64'),
    }
  }
  const answered = operation.responses[200]
  if (answered)
    answered.headers = {
      'PAYMENT-RESPONSE': text('For a complete response paid by x402: the settlement, JSON in base64'),
    }
}
