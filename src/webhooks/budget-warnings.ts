import {
  type AllowancePeriod,
  allowancePeriod,
  LIMIT_RESETS,
  type LimitReset,
  totalsOf,
} from '../core/billing/allowance-period.ts'
import type { BudgetScope } from '../core/billing/budget.ts'
import { formatUsd, picoUsd } from '../core/kernel/money.ts'
import { isoTimeOrNull, MINUTE_MS } from '../core/kernel/time.ts'
import { eventIdOf } from '../core/webhooks/event.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { type NewEvent, recordEvent } from './event-outbox.ts'

/** The shares of a budget, in percent, that are announced; the refusal of a call announces that all is spent. */
const PERCENTS = [80, 50]
const FIRST_PERCENT = Math.min(...PERCENTS)

/** Budgets are looked at whose calls were admitted in the quarters of an hour since then: most calls end within it. */
const USED_WITHIN_MS = 30 * MINUTE_MS
const QUARTER_MS = 15 * MINUTE_MS

interface SpentBudget {
  scope: BudgetScope
  accountId: string
  id: string
  name: string
  limit: string
  reset: LimitReset
  spent: string
}

/** `$1`: since when, unix ms; `$2`: by reset, the names of the totals of its running period; `$3`: the least percent. */
const SPENT_BUDGETS = `
WITH used AS MATERIALIZED (
  SELECT DISTINCT account_id, key_id FROM usage_totals WHERE width_ms = ${QUARTER_MS} AND starts_at_ms >= $1
), used_accounts AS MATERIALIZED (
  SELECT DISTINCT account_id FROM used
), budget AS (
  SELECT 'key' AS scope, key.account_id, key.id, coalesce(nullif(key.name, ''), key.id) AS name,
         key.limit_pico AS "limit", key.limit_reset::text AS reset, ARRAY[key.id] AS holders
  FROM used JOIN api_keys AS key ON key.id = used.key_id WHERE key.state = 'active'
  UNION ALL
  SELECT 'member', member.account_id, person.id, coalesce(person.email, person.id), member.monthly_budget_pico, 'monthly',
         ARRAY(SELECT id FROM api_keys WHERE account_id = member.account_id AND created_by = person.id)
  FROM used_accounts JOIN organisation_members AS member USING (account_id) JOIN accounts AS person ON person.id = person_id
  UNION ALL
  SELECT 'account', account.id, account.id, '', account.monthly_limit_pico, 'monthly', ARRAY['']
  FROM used_accounts JOIN accounts AS account ON account.id = account_id
  UNION ALL
  SELECT own.scope, own.account_id, own.value, own.value, coalesce(own.limit_pico, every.limit_pico),
         coalesce(every.limit_reset, own.limit_reset)::text, ARRAY[own.scope || ':' || own.value]
  FROM used_accounts JOIN group_budgets AS own USING (account_id)
  LEFT JOIN group_budgets AS every ON every.account_id = own.account_id AND every.scope = own.scope AND every.value = ''
  WHERE own.value <> ''
)
SELECT scope, account_id AS "accountId", id, name, "limit"::text, reset, spent::text
FROM budget CROSS JOIN LATERAL (
  SELECT sum(spent_pico) AS spent FROM spend_totals AS total
  WHERE total.account_id = budget.account_id AND total.key_id = ANY (holders)
    AND total.period IN (SELECT jsonb_array_elements_text($2::jsonb -> reset))
) AS totals
WHERE "limit" > 0 AND spent * 100 >= "limit" * $3::int`

/**
 * Records an event for each budget of which half, or four fifths, are spent: once a budget, period and share, however many
 * processes look. Returns how many were new.
 */
export async function warnOfBudgets({
  postgres,
  clock,
}: {
  postgres: Postgres
  /** Unix milliseconds. */
  clock: () => number
}): Promise<{ warnings: number }> {
  const now = clock()
  const periods = new Map(LIMIT_RESETS.map((reset) => [reset, allowancePeriod(reset, now)]))
  const totals = Object.fromEntries([...periods].map(([reset, period]) => [reset, totalsOf(period)]))
  const rows = await postgres.$queryRawUnsafe<SpentBudget[]>(
    SPENT_BUDGETS,
    now - USED_WITHIN_MS,
    JSON.stringify(totals),
    FIRST_PERCENT,
  )
  const warnings = rows.map((row) => warningOf(row, periods.get(row.reset)!))
  const ids = warnings.map(({ type, cause }) => eventIdOf(type, cause))
  const known = await postgres.event.findMany({ where: { id: { in: ids } }, select: { id: true } })
  const isKnown = new Set(known.map(({ id }) => id))
  const missing = warnings.filter((_, index) => !isKnown.has(ids[index]!))
  for (const warning of missing) await recordEvent(postgres, warning)
  return { warnings: missing.length }
}

function warningOf(row: SpentBudget, period: AllowancePeriod): NewEvent & { cause: string } {
  const { scope, accountId, id, name, reset } = row
  const [limit, spent] = [BigInt(row.limit), BigInt(row.spent)]
  const percent = PERCENTS.find((share) => spent * 100n >= limit * BigInt(share)) ?? FIRST_PERCENT
  return {
    type: 'budget.warning',
    accountId,
    cause: `${accountId}:${scope}:${id}:${period.id}:${percent}`,
    data: {
      ...{ scope, id, name, percent },
      spent_usd: formatUsd(picoUsd(spent)),
      limit_usd: formatUsd(picoUsd(limit)),
      limit_reset: reset,
      resets_at: isoTimeOrNull(period.endsAt),
    },
  }
}
