import type { BudgetHolder, BudgetScope } from '../../core/billing/budget.ts'
import { UNLIMITED_PICO } from '../../core/billing/group.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** Values of a tag, or end users, of an account that are remembered: those called within the last 32 days, and those with a limit. */
export const VALUES_MAX = 1_000

/** `$4`: a value is added if it is new, its rule exists and there are fewer. */
const LIMIT = `
WITH known AS (
  SELECT value, limit_pico FROM group_budgets WHERE account_id = $1 AND scope = $2 AND value IN ($3, '')
), added AS (
  INSERT INTO group_budgets (account_id, scope, value)
  SELECT $1, $2, $3 FROM known WHERE value = '' AND NOT EXISTS (SELECT FROM known WHERE value = $3)
    AND (SELECT count(*) FROM group_budgets WHERE account_id = $1 AND scope = $2 AND value <> '') < $4
  ON CONFLICT DO NOTHING RETURNING value
)
SELECT (SELECT limit_pico::text FROM known ORDER BY limit_pico IS NULL, value DESC LIMIT 1) AS "limit",
       count(*) = 0 OR bool_or(value = $3) OR EXISTS (SELECT FROM added) AS "hasRoom"
FROM known`

const FORGET_UNUSED = `
DELETE FROM group_budgets AS budget
WHERE account_id = $1 AND scope = $2 AND value <> '' AND limit_pico IS NULL AND created_at < now() - interval '32 days'
  AND NOT EXISTS (
    SELECT FROM spend_totals AS total WHERE total.account_id = $1 AND total.key_id = $2 || ':' || budget.value
      AND total.period = 'total' AND total.last_call_at_ms > extract(epoch FROM now() - interval '32 days') * 1000)`

export type GroupLimit = ReturnType<typeof createGroupLimit>

/**
 * The limit of a group, pico-USD: its own, or for a value without one that of the rule. Remembers a value that is new, by
 * which the number of allowances of an account is bounded. Throws ApiError `key_limit_exceeded` where there is no room.
 */
export const createGroupLimit =
  (postgres: Postgres) =>
  async ({ accountId, scope, id }: BudgetHolder): Promise<bigint> => {
    const read = async () => {
      const rows = await postgres.$queryRawUnsafe<Array<{ limit: string | null; hasRoom: boolean }>>(
        LIMIT,
        ...[accountId, scope, id, VALUES_MAX],
      )
      return rows[0] ?? { limit: null, hasRoom: true }
    }
    let found = await read()
    if (!found.hasRoom) {
      await postgres.$executeRawUnsafe(FORGET_UNUSED, accountId, scope)
      // Another call may have added the same value meanwhile.
      found = await read()
    }
    if (!found.hasRoom) throw noRoom(scope)
    return found.limit === null ? UNLIMITED_PICO : BigInt(found.limit)
  }

const noRoom = (scope: BudgetScope) =>
  new ApiError(
    'key_limit_exceeded',
    `This account had calls of ${VALUES_MAX} ${scope === 'tag' ? 'values of its tag' : 'end users'} within 32 days, as many as may have budgets.`,
    { metadata: { limited_by: scope } },
  )
