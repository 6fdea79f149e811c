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

/** Messages never repeat the input: it may contain a key in the wrong field. */
const closed = (known: string) => ({
  additionalProperties: false,
  errorMessage: {
    type: `Send a JSON object with ${known}.`,
    additionalProperties: `Unknown field. Known are ${known}.`,
  },
})

/** The body of a POST. The key is never shown again. */
export const NewByokKeyBody = Type.Object(
  {
    provider: Type.String(takes('the id of a provider')),
    key: Type.String({
      // It travels in a header: no spaces, no control characters.
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

const KEY = {
  id: Type.String(),
  provider: Type.String(),
  name: Type.String(),
  last4: Type.String(),
  /** Whether calls go on to shared capacity (at listed rates) when this key fails. */
  allow_fallback: Type.Boolean(),
  /**
   * `unchecked`: it is not known whether its provider takes it. `refused`: the last time it did not. `unreachable`: its
   * provider could not be reached with it.
   */
  status: Type.Enum(['active', 'unchecked', 'unreachable', 'refused', 'failing', 'disabled']),
  /** Failures since the last attempt that worked; one a second is counted. */
  failures: Type.Integer(),
  last_error: nullable(Type.String()),
  last_error_at: nullable(IsoTime),
  created_at: IsoTime,
}

/** A key as /v1/provider-keys shows it. */
export const ByokKeyBody = Type.Object({
  ...KEY,
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
export type ByokKeyDeleted = Static<typeof ByokKeyDeleted>

/** The same under /console/api; `last_error` is worded for people. */
export const ByokKeyView = Type.Object({ ...KEY, provider_name: Type.String() })
export type ByokKeyView = Static<typeof ByokKeyView>

/** GET /console/api/provider-keys */
export const ByokKeyList = Type.Object({
  data: Type.Array(ByokKeyView),
  /** The providers a key can be stored for, by name. */
  providers: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
  /** The routing fee on calls with a BYOK key, percent of the listed cost: "5". */
  fee_percent: DecimalUsd,
})
export type ByokKeyList = Static<typeof ByokKeyList>
