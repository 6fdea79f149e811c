import { Ajv } from 'ajv'
import { type Static, type TSchema, Type } from 'typebox'
import { parse } from 'yaml'
import { RULE_ROLES } from '../../accounts/identity/sign-in-rules.ts'
import { KEY_SCOPES } from '../../core/accounts/key-scope.ts'
import { MEMBER_ROLES } from '../../core/accounts/member-permissions.ts'
import { SEVERITIES } from '../../core/alarms/severity.ts'
import { TAG_PATTERN } from '../../core/api/budgets.ts'
import { GUARDRAIL_FIELDS } from '../../core/api/guardrails.ts'
import { LIMIT_RESETS } from '../../core/billing/allowance-period.ts'
import { GROUP_SCOPES } from '../../core/billing/group-scopes.ts'
import { UsageError } from '../run-command.ts'

const CLOSED = { additionalProperties: false }
const optional = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { description }))
const count = (description: string) => optional(Type.Integer({ minimum: 1 }), description)
const usdOf = (description?: string) =>
  Type.String({
    pattern: '^\\d+(\\.\\d{1,12})?$',
    ...(description && { description: `USD; ${description}` }),
  })
const usd = (description: string) => optional(usdOf(), `USD; ${description}`)
const list = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))

const KeyEntry = Type.Object(
  {
    name: Type.String({ minLength: 1, description: 'Identifies it among the keys of its account.' }),
    limit_usd: usd('null: none.'),
    limit_reset: Type.Optional(Type.Enum([...LIMIT_RESETS])),
    expires_at: optional(Type.String(), 'ISO 8601; null: never.'),
    requests_per_minute: count("null: the gateway's default."),
    concurrent_calls: count("null: the gateway's default."),
    models: list('IDs, or `developer/*`; empty: all.'),
    providers: list('IDs; empty: all.'),
    scopes: Type.Optional(Type.Array(Type.Enum([...KEY_SCOPES]))),
    sha256: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        description:
          'Of the secret of a key of another gateway, which stays valid; identifies it, whatever its name is.',
      }),
    ),
    project: optional(Type.String(), 'One of its account; null: none.'),
    paused: Type.Optional(Type.Boolean({ description: 'Its calls are refused.' })),
  },
  CLOSED,
)

const BudgetEntry = Type.Object(
  {
    scope: Type.Enum([...GROUP_SCOPES]),
    value: optional(
      Type.String({ minLength: 1, maxLength: 100 }),
      'The project or value; null: every value.',
    ),
    tag: optional(
      Type.String({ pattern: TAG_PATTERN }),
      'Of every value of a tag: the member of `metadata` that has it.',
    ),
    limit_usd: usd('null: no limit, or for a value that of every value.'),
    limit_reset: Type.Optional(Type.Enum([...LIMIT_RESETS], { default: 'monthly' })),
  },
  CLOSED,
)

const GuardrailEntry = Type.Object(
  {
    key: optional(Type.String(), 'The name of a key of the account; null: every key.'),
    kind: Type.Optional(GUARDRAIL_FIELDS.kind),
    url: Type.String(),
    secret: Type.Optional(
      Type.String({ description: 'Of one that is new; `env:NAME` reads it from the environment.' }),
    ),
    points: Type.Optional(GUARDRAIL_FIELDS.points),
    may_replace: Type.Optional(GUARDRAIL_FIELDS.may_replace),
    timeout_ms: Type.Optional(GUARDRAIL_FIELDS.timeout_ms),
    on_failure: Type.Optional(GUARDRAIL_FIELDS.on_failure),
    settings: Type.Optional(GUARDRAIL_FIELDS.settings),
  },
  CLOSED,
)

const MemberEntry = Type.Object(
  {
    email: Type.String(),
    role: Type.Optional(Type.Enum([...MEMBER_ROLES])),
    monthly_budget_usd: usd('null: none. Of those who have joined.'),
  },
  CLOSED,
)

const RuleRole = Type.Enum([...RULE_ROLES])

const SignInEntry = Type.Object(
  {
    domain: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$',
        description: 'Of verified addresses. You vouch that it is theirs.',
      }),
    ),
    domain_role: Type.Optional(RuleRole),
    groups: Type.Optional(
      Type.Record(Type.String(), RuleRole, {
        description: 'Roles by the claim `groups` of the provider of OIDC_ISSUER.',
      }),
    ),
  },
  CLOSED,
)

const AccountEntry = Type.Object(
  {
    account: Type.String({
      minLength: 1,
      description: 'The email of a person, or the whole name of an organisation.',
    }),
    owner: Type.Optional(
      Type.String({ description: 'The email of the owner of an organisation that is new.' }),
    ),
    opening_credit_usd: Type.Optional(usdOf('the balance of an account that is new.')),
    requests_per_minute: count("null: the gateway's default."),
    concurrent_calls: count("null: the gateway's default."),
    spend_cap_usd: usd('a month; null: none.'),
    low_balance_usd: usd('null: never.'),
    sign_in: Type.Optional(
      Type.Union([SignInEntry, Type.Null()], {
        description: 'Of an organisation: by what sign-ins with a provider people become members.',
      }),
    ),
    surfaces: list('Those that are open to it; others are closed.'),
    members: Type.Optional(Type.Array(MemberEntry)),
    budgets: Type.Optional(Type.Array(BudgetEntry)),
    keys: Type.Optional(Type.Array(KeyEntry)),
    guardrails: Type.Optional(Type.Array(GuardrailEntry)),
  },
  CLOSED,
)

const AlarmEntry = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    kind: Type.Enum(['email', 'slack', 'pagerduty']),
    target: Type.String({
      description:
        'Address, URL or routing key of one that is new; `env:NAME` reads it from the environment.',
    }),
    url: Type.Optional(Type.String({ description: "URL of PagerDuty's Events API." })),
    minimum_severity: Type.Optional(Type.Enum([...SEVERITIES])),
    enabled: Type.Optional(Type.Boolean()),
  },
  CLOSED,
)

/** A part that is absent stays as it is. */
const GatewayDocument = Type.Object(
  {
    catalog: Type.Optional(Type.Object({}, { description: 'The edits, as `catalog apply` takes them.' })),
    settings: Type.Optional(Type.Object({ provider_status_public: Type.Optional(Type.Boolean()) }, CLOSED)),
    surfaces: list('Those that are open to every account; others are closed.'),
    alarms: Type.Optional(Type.Array(AlarmEntry, { description: 'Every destination; others are removed.' })),
    accounts: Type.Optional(
      Type.Array(AccountEntry, {
        description: 'Accounts, members, budgets and keys that are absent stay as they are.',
      }),
    ),
  },
  { ...CLOSED, title: 'Shuntyard gateway file' },
)

/** For editors. */
export const DOCUMENT_SCHEMA: object = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...GatewayDocument,
}
export type GatewayDocument = Static<typeof GatewayDocument>
export type AccountEntry = Static<typeof AccountEntry>
export type BudgetEntry = Static<typeof BudgetEntry>
export type GuardrailEntry = Static<typeof GuardrailEntry>
export type KeyEntry = Static<typeof KeyEntry>
export type AlarmEntry = Static<typeof AlarmEntry>

const PROBLEMS_SHOWN = 20

/** Reads a gateway file, YAML or JSON. Throws UsageError with the places that are wrong. */
export function readGatewayDocument(text: string): GatewayDocument {
  const validate = new Ajv({ allErrors: true }).compile<GatewayDocument>(GatewayDocument)
  const document: unknown = parse(text) ?? {}
  if (validate(document)) return document
  const problems = (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${instancePath || 'the file'} ${message}${'additionalProperty' in params ? ` (${params.additionalProperty})` : ''}`,
  )
  throw new UsageError(
    `The file is not valid:\n  ${[...new Set(problems)].slice(0, PROBLEMS_SHOWN).join('\n  ')}`,
  )
}
