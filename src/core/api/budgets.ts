import { type Static, Type } from 'typebox'
import { LIMIT_RESETS } from '../billing/allowance-period.ts'
import { GROUP_SCOPES } from '../billing/group-scopes.ts'
import { CLOSED, line, nullable, optional, usd } from './request-fields.ts'
import { DecimalUsd, IsoTime, List } from './shared.ts'

/** A budget in the current period. What remains excludes the holds of open calls. */
export const BudgetState = Type.Object({
  limit_usd: DecimalUsd,
  used_usd: DecimalUsd,
  remaining_usd: DecimalUsd,
  resets_at: nullable(IsoTime),
})
export type BudgetState = Static<typeof BudgetState>

/** GET /console/api/spend-cap → 200: the cap of the session's account, and its spending of this month (UTC). */
export const SpendCapView = Type.Object({
  /** Null: there is no cap. */
  limit_usd: nullable(Type.String()),
  spent_usd: Type.String(),
  /** Excludes the holds of running calls; null: there is no cap. */
  remaining_usd: nullable(Type.String()),
  /** Start of the next month. */
  resets_at: Type.String(),
})
export type SpendCapView = Static<typeof SpendCapView>

/** PATCH /console/api/spend-cap → 200 SpendCapView, once all processes apply it. */
export const SpendCapBody = Type.Object(
  {
    /** Null: no cap. */
    limit_usd: usd('limit_usd'),
  },
  CLOSED,
)
export type SpendCapBody = Static<typeof SpendCapBody>

const GroupScopeName = Type.Enum([...GROUP_SCOPES])

/** A budget of a project, of a value of the tag or an end user, or of every such value. */
export const GroupBudgetView = Type.Object({
  object: Type.Literal('budget'),
  scope: GroupScopeName,
  /** The project, the value of the tag or the end user; null: every value that has no limit of its own. */
  value: nullable(Type.String()),
  /** Of scope `tag`: the member of `metadata` that has the value. */
  tag: nullable(Type.String()),
  /** Null: no limit. */
  limit_usd: nullable(DecimalUsd),
  limit_reset: Type.Enum([...LIMIT_RESETS]),
  /** Whether the limit is that of every value. */
  is_default: Type.Boolean(),
  /** Charged in the current period; 0 for every value. */
  used_usd: DecimalUsd,
  requests: Type.Integer(),
  /** Excludes the holds of open calls; null: no limit. */
  remaining_usd: nullable(DecimalUsd),
  resets_at: nullable(IsoTime),
  /** Active keys of the project. */
  keys: Type.Integer(),
})
export type GroupBudgetView = Static<typeof GroupBudgetView>

/** GET /v2/budgets → 200: by scope, the most used first. */
export const GroupBudgetList = List(GroupBudgetView)
export type GroupBudgetList = Static<typeof GroupBudgetList>

export const TAG_PATTERN = '^[A-Za-z0-9_.-]{1,40}$'

const groupValue = optional(line('value', 1, 100))

/** POST /v2/budgets → 200 GroupBudgetView, once all processes apply it. Creates or changes a budget. */
export const GroupBudgetBody = Type.Object(
  {
    scope: GroupScopeName,
    /** Required for projects. */
    value: groupValue,
    /** Required for scope `tag` without a value. */
    tag: Type.Optional(
      Type.String({
        pattern: TAG_PATTERN,
        errorMessage: '`{param}` takes up to 40 letters, digits, dots, hyphens and underscores.',
      }),
    ),
    /** Null: no limit; for a value: that of every value. */
    limit_usd: usd('limit_usd'),
    /** Of a value: that of every value. */
    limit_reset: Type.Optional(Type.Enum([...LIMIT_RESETS], { default: 'monthly' })),
  },
  CLOSED,
)
export type GroupBudgetBody = Static<typeof GroupBudgetBody>

/** DELETE /v2/budgets → 200. */
export const GroupBudgetQuery = Type.Object({ scope: GroupScopeName, value: groupValue }, CLOSED)
export const GroupBudgetDeleted = Type.Object({
  object: Type.Literal('budget'),
  scope: GroupScopeName,
  value: nullable(Type.String()),
  deleted: Type.Literal(true),
})
