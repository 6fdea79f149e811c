import { hasControlCharacters } from '../kernel/email-address.ts'
import { ApiError } from '../kernel/errors.ts'

/** What a client may say of its own provider key. */
export interface ProviderKeyFields {
  provider?: string
  key?: string
  name?: string
  allow_fallback?: boolean
  disabled?: boolean
}

type FieldName = keyof ProviderKeyFields

const NAME_CHARS_MAX = 100
/** It travels in a header: no spaces, no control characters. */
const SECRET = /^[\x21-\x7e]{1,4096}$/

const FIELDS: Record<FieldName, { isFit: (value: unknown) => boolean; takes: string }> = {
  provider: { isFit: (value) => typeof value === 'string', takes: 'the id of a provider' },
  key: {
    isFit: (value) => typeof value === 'string' && SECRET.test(value),
    takes: '1 to 4096 printable ASCII characters without spaces',
  },
  name: {
    isFit: (value) =>
      typeof value === 'string' && value.length <= NAME_CHARS_MAX && !hasControlCharacters(value),
    takes: `a text of at most ${NAME_CHARS_MAX} characters, none of them a control character`,
  },
  allow_fallback: { isFit: (value) => typeof value === 'boolean', takes: 'true or false' },
  disabled: { isFit: (value) => typeof value === 'boolean', takes: 'true or false' },
}

/**
 * Reads those fields off a request's body. Throws ApiError `invalid_request` for any other field and any unfit
 * value; the message never repeats what was sent.
 */
export function readProviderKeyFields(
  body: unknown,
  known: readonly FieldName[],
  required: readonly FieldName[] = [],
): ProviderKeyFields {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError('invalid_request', `Send a JSON object with ${known.join(', ')}.`)
  const fields = body as Record<string, unknown>
  for (const name of Object.keys(fields)) {
    if (!known.some((other) => other === name))
      throw new ApiError('invalid_request', `Unknown field. Known are ${known.join(', ')}.`, {
        param: name.slice(0, NAME_CHARS_MAX),
      })
  }
  for (const name of known) {
    const value = fields[name]
    if (value === undefined && !required.includes(name)) continue
    if (!FIELDS[name].isFit(value))
      throw new ApiError('invalid_request', `\`${name}\` takes ${FIELDS[name].takes}.`, { param: name })
  }
  return fields
}
