import { CALL_PAYMENT_ACCOUNT } from '../../core/billing/postings.ts'
import { UNCHARGED_COST_DAYS } from '../../core/billing/uncharged-cost.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** The charges and the uncharged cost of an account in the compared days, pico-USD. */
export interface AccountCosts {
  accountId: string
  isSuspended: boolean
  isSlowed: boolean
  chargedPico: bigint
  unchargedPico: bigint
  causedPico: bigint
}

/**
 * Accounts above the floor, or slowed already. Excludes the account of calls without a key: those are bounded by payer.
 */
const SUSPECTS = `
WITH suspect AS (
  SELECT account_id AS id FROM account_provider_costs
  WHERE caused_pico > 0 AND day > (now() AT TIME ZONE 'UTC')::date - ${UNCHARGED_COST_DAYS}
  GROUP BY account_id HAVING sum(caused_pico) > $1::numeric
  UNION SELECT id FROM accounts WHERE slowed_at IS NOT NULL
)
SELECT account.id AS "accountId", account.state = 'suspended' AS "isSuspended",
       account.slowed_at IS NOT NULL AS "isSlowed", coalesce(sum(charged_pico), 0)::text AS "chargedPico",
       coalesce(sum(uncharged_pico), 0)::text AS "unchargedPico", coalesce(sum(caused_pico), 0)::text AS "causedPico"
FROM suspect JOIN accounts AS account ON account.id = suspect.id
LEFT JOIN account_provider_costs AS cost ON cost.account_id = account.id
  AND cost.day > (now() AT TIME ZONE 'UTC')::date - ${UNCHARGED_COST_DAYS}
WHERE account.id <> '${CALL_PAYMENT_ACCOUNT}'
GROUP BY account.id ORDER BY account.id`

const DAYS_KEPT = 400

const PRUNE = `
DELETE FROM account_provider_costs WHERE day < (now() AT TIME ZONE 'UTC')::date - ${DAYS_KEPT}`

export type UnchargedCostStore = ReturnType<typeof createUnchargedCostStore>

/** The stored totals of charges and of uncharged cost; settlement adds to them. */
export function createUnchargedCostStore(
  postgres: Pick<Postgres, '$queryRawUnsafe' | '$executeRawUnsafe' | 'account'>,
) {
  return {
    async suspects(floorPico: bigint): Promise<AccountCosts[]> {
      const rows = await postgres.$queryRawUnsafe<
        Array<
          Pick<AccountCosts, 'accountId' | 'isSuspended' | 'isSlowed'> &
            Record<'chargedPico' | 'unchargedPico' | 'causedPico', string>
        >
      >(SUSPECTS, String(floorPico))
      return rows.map((row) => ({
        ...row,
        chargedPico: BigInt(row.chargedPico),
        unchargedPico: BigInt(row.unchargedPico),
        causedPico: BigInt(row.causedPico),
      }))
    },

    /** Starts or ends the slowdown of an account. */
    setSlowed: (accountId: string, slowedAt: Date | null) =>
      postgres.account.update({ where: { id: accountId }, data: { slowedAt } }),

    prune: () => postgres.$executeRawUnsafe(PRUNE),
  }
}
