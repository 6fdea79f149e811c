import { type Static, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { DecimalUsd, IsoTime, List } from './shared.ts'

const NAME_CHARS_MAX = 100

const takes = (what: string) => ({ errorMessage: `\`{param}\` takes ${what}.` })

const Name = Type.Optional(
  Type.String({
    maxLength: NAME_CHARS_MAX,
    format: 'line',
    ...takes(`a text of at most ${NAME_CHARS_MAX} characters, none of them a control character`),
  }),
)
const AllowFallback = Type.Optional(Type.Boolean(takes('true or false')))

/** Messages never repeat the input, which may contain a key in the wrong field. */
const closed = (known: string) => ({
  additionalProperties: false,
  errorMessage: {
    type: `Send a JSON object with ${known}.`,
    additionalProperties: `Unknown field. Known are ${known}.`,
  },
})

/** The body of a POST. The key is never returned. */
export const NewByokKeyBody = Type.Object(
  {
    provider: Type.String(takes('the id of a provider')),
    key: Type.String({
      // It is sent in a header, so it must not contain spaces or control characters.
      pattern: '^[\\x21-\\x7e]{1,4096}$',
      ...takes('1 to 4096 printable ASCII characters without spaces'),
    }),
    name: Name,
    allow_fallback: AllowFallback,
  },
  closed('provider, key, name, allow_fallback'),
)
export type NewByokKeyBody = Static<typeof NewByokKeyBody>

/** The body of a PATCH. */
export const ByokKeyPatch = Type.Object(
  {
    name: Name,
    allow_fallback: AllowFallback,
    disabled: Type.Optional(Type.Boolean(takes('true or false'))),
  },
  closed('name, allow_fallback, disabled'),
)
export type ByokKeyPatch = Static<typeof ByokKeyPatch>

/** A key in responses of /v1/provider-keys and /console/api/provider-keys. */
export const ByokKeyBody = Type.Object({
  id: Type.String(),
  provider: Type.String(),
  name: Type.String(),
  last4: Type.String(),
  /** Whether calls fall back to platform keys (at listed rates) when this key fails. */
  allow_fallback: Type.Boolean(),
  /**
   * `unchecked`: not used yet. `refused`: the provider rejected it at the last attempt. `unreachable`: the provider
   * could not be reached with it.
   */
  status: Type.Enum(['active', 'unchecked', 'unreachable', 'refused', 'failing', 'disabled']),
  /** Failures since the last successful attempt, counted at most once a second. */
  failures: Type.Integer(),
  last_error: nullable(Type.String()),
  last_error_at: nullable(IsoTime),
  created_at: IsoTime,
  object: Type.Literal('provider_key'),
  accepted_at: nullable(IsoTime),
  failing_since: nullable(IsoTime),
})
export type ByokKeyBody = Static<typeof ByokKeyBody>

export const ProviderKeyPage = Type.Interface([List(ByokKeyBody)], {
  providers: Type.Array(Type.String()),
})

export const ByokKeyDeleted = Type.Object({
  id: Type.String(),
  object: Type.Literal('provider_key'),
  deleted: Type.Literal(true),
})

/** GET /console/api/provider-keys */
export const ByokKeyList = Type.Interface([ProviderKeyPage], {
  provider_names: Type.Record(Type.String(), Type.String()),
  /** The routing fee on calls with a BYOK key, percent of the listed cost: "5". */
  fee_percent: DecimalUsd,
})
export type ByokKeyList = Static<typeof ByokKeyList>
