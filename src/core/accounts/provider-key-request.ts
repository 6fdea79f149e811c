import { type Static, Type } from 'typebox'

const NAME_CHARS_MAX = 100

const takes = (what: string) => ({ errorMessage: `\`{param}\` takes ${what}.` })

const FIELDS = {
  provider: Type.String(takes('the id of a provider')),
  key: Type.String({
    // It travels in a header: no spaces, no control characters.
    pattern: '^[\\x21-\\x7e]{1,4096}$',
    ...takes('1 to 4096 printable ASCII characters without spaces'),
  }),
  name: Type.Optional(
    Type.String({
      maxLength: NAME_CHARS_MAX,
      format: 'line',
      ...takes(`a text of at most ${NAME_CHARS_MAX} characters, none of them a control character`),
    }),
  ),
  allow_fallback: Type.Optional(Type.Boolean(takes('true or false'))),
  disabled: Type.Optional(Type.Boolean(takes('true or false'))),
}

/** Messages never repeat the input: it may contain a key in the wrong field. */
const closed = (known: string) => ({
  additionalProperties: false,
  errorMessage: {
    type: `Send a JSON object with ${known}.`,
    additionalProperties: `Unknown field. Known are ${known}.`,
  },
})

const { disabled, ...SETTABLE } = FIELDS
/** POST /v1/provider-keys. */
export const NewProviderKeyBody = Type.Object(SETTABLE, closed('provider, key, name, allow_fallback'))
export type NewProviderKeyBody = Static<typeof NewProviderKeyBody>

/** PATCH /v1/provider-keys/{id}. */
export const ProviderKeyChanges = Type.Object(
  { name: FIELDS.name, allow_fallback: FIELDS.allow_fallback, disabled },
  closed('name, allow_fallback, disabled'),
)
export type ProviderKeyChanges = Static<typeof ProviderKeyChanges>
