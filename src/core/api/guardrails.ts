import { type Static, Type } from 'typebox'
import { GUARD_POINTS, GUARDRAIL_KINDS, ON_FAILURE } from '../guardrails/guardrail.ts'
import { CLOSED, line, nullable } from './request-fields.ts'
import { IsoTime, List } from './shared.ts'

const names = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 100, description }))

/** What a kind of guardrail needs besides. */
export const GuardrailSettings = Type.Object(
  {
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    categories: names('Of `moderation`: those that deny; empty: any'),
    language: Type.Optional(
      Type.String({ pattern: '^[a-z]{2,3}$', description: 'Of `presidio`; `en` if absent' }),
    ),
    score_threshold: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1, description: 'Of `presidio`; 0.5 if absent' }),
    ),
    entities: names('Of `presidio`: those that are looked for; empty: all'),
  },
  CLOSED,
)

const Points = Type.Array(Type.Enum([...GUARD_POINTS]), { minItems: 1, uniqueItems: true })
const KeyId = nullable(Type.String({ description: 'Null: of every key of the account' }))

export const GUARDRAIL_FIELDS = {
  kind: Type.Enum([...GUARDRAIL_KINDS]),
  url: line('url', 1, 2_048),
  points: Points,
  may_replace: Type.Boolean({ description: 'Its answers may replace texts; streams are held back for it' }),
  timeout_ms: Type.Integer({ minimum: 100, maximum: 10_000 }),
  on_failure: Type.Enum([...ON_FAILURE]),
  settings: GuardrailSettings,
}

export const GuardrailView = Type.Object({
  object: Type.Literal('guardrail'),
  id: Type.String(),
  key_id: KeyId,
  ...GUARDRAIL_FIELDS,
  has_secret: Type.Boolean(),
  created_at: IsoTime,
})
export type GuardrailView = Static<typeof GuardrailView>

/** GET /v2/guardrails → 200: that of all keys first. */
export const GuardrailList = List(GuardrailView)
export type GuardrailList = Static<typeof GuardrailList>

/** POST /v2/guardrails → 200 GuardrailSet, once all processes apply it. Creates the guardrail, or replaces its settings. */
export const GuardrailBody = Type.Object(
  {
    key_id: Type.Optional(KeyId),
    kind: Type.Optional(GUARDRAIL_FIELDS.kind),
    url: GUARDRAIL_FIELDS.url,
    secret: Type.Optional(nullable(line('secret', 1, 500))),
    points: Type.Optional(Points),
    may_replace: Type.Optional(Type.Boolean()),
    timeout_ms: Type.Optional(GUARDRAIL_FIELDS.timeout_ms),
    on_failure: Type.Optional(GUARDRAIL_FIELDS.on_failure),
    settings: Type.Optional(GuardrailSettings),
  },
  CLOSED,
)
export type GuardrailBody = Static<typeof GuardrailBody>

/** `secret`: a new signing secret, returned only once; otherwise null. */
export const GuardrailSet = Type.Object({ guardrail: GuardrailView, secret: nullable(Type.String()) })
export type GuardrailSet = Static<typeof GuardrailSet>

/** DELETE /v2/guardrails → 200. */
export const GuardrailQuery = Type.Object({ key_id: Type.Optional(Type.String()) }, CLOSED)
export const GuardrailDeleted = Type.Object({
  object: Type.Literal('guardrail'),
  key_id: KeyId,
  deleted: Type.Literal(true),
})

/** POST /v2/guardrails/test → 200 GuardrailTested: what the service answers to a text. */
export const GuardrailTestBody = Type.Object(
  {
    key_id: Type.Optional(KeyId),
    point: Type.Optional(Type.Enum([...GUARD_POINTS])),
    text: Type.String({ minLength: 1, maxLength: 10_000 }),
  },
  CLOSED,
)
export type GuardrailTestBody = Static<typeof GuardrailTestBody>

export const GuardrailTested = Type.Object({
  action: Type.Enum(['allow', 'deny', 'replace', 'failed']),
  /** Of a denial. */
  code: nullable(Type.String()),
  /** Of a denial, or why it failed. */
  message: nullable(Type.String()),
  /** What replaces the text. */
  text: nullable(Type.String()),
  duration_ms: Type.Integer(),
})
export type GuardrailTested = Static<typeof GuardrailTested>
