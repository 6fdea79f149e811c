import { type Static, Type } from 'typebox'
import { invalid } from '../kernel/errors.ts'
import { ResponsesBody } from './responses-request.ts'

/** The body of POST /v2/responses/compact. */
export const CompactBody = Type.Object(
  {
    ...ResponsesBody.properties,
    input: Type.Optional(
      Type.Unsafe<string | unknown[] | null>({
        type: ['string', 'array', 'null'],
        description: 'The conversation, beside that of `previous_response_id`',
        documented: 'ResponsesInput',
        errorMessage: '`input` must be a text or an array of items.',
      }),
    ),
  },
  { errorMessage: { type: 'The request body must be a JSON object.' } },
)

/** The body of a response that is the summary of a conversation. Throws ApiError `invalid_request` without one. */
export function summaryOf(body: Static<typeof CompactBody>): ResponsesBody {
  const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : (body.input ?? [])
  if (items.length === 0 && body.previous_response_id == null)
    throw invalid('input', '`input` is required: a text, or an array of at least one item.')
  const input = [...items, { type: 'compaction_trigger' }]
  return { ...body, input, stream: false, background: false, store: false }
}
