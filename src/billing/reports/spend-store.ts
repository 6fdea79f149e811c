import { type AllowancePeriod, totalsOf } from '../../core/billing/allowance-period.ts'
import { type BudgetHolder, type BudgetScope, groupName } from '../../core/billing/budget.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { OpenHold } from '../holds/admission.ts'

/** The totals that add up to the spending of a budget: `$1` is the account, `$2` the owner of the budget. */
const TOTALS_OF: Record<BudgetScope, string> = {
  key: 'account_id = $1 AND key_id = $2',
  member: 'account_id = $1 AND key_id IN (SELECT id FROM api_keys WHERE account_id = $1 AND created_by = $2)',
  account: `account_id = $1 AND key_id = '' AND $2::text IS NOT NULL`,
  project: `account_id = $1 AND key_id = 'project:' || $2`,
  tag: `account_id = $1 AND key_id = 'tag:' || $2`,
  user: `account_id = $1 AND key_id = 'user:' || $2`,
}

/** One statement, so that both results are of one snapshot. */
const spendingSql = (totals: string) => `
SELECT (
  SELECT coalesce(sum(spent_pico), 0)::text FROM spend_totals WHERE ${totals} AND period = ANY ($3::text[])
) AS "spent", (
  SELECT coalesce(json_object_agg(id, charge_pico::text), '{}') FROM call_records WHERE id = ANY ($4::text[])
) AS "charges"`

const SPENT_BY_MEMBER = `
SELECT key.created_by AS "memberId", sum(total.spent_pico)::text AS "spent"
FROM api_keys AS key JOIN spend_totals AS total ON total.account_id = key.account_id AND total.key_id = key.id
WHERE key.account_id = $1 AND key.created_by IS NOT NULL AND total.period = ANY ($2::text[])
GROUP BY key.created_by HAVING sum(total.spent_pico) > 0`

/** The spending of budgets, from the totals. A call belongs to the period it was admitted in. */
export type SpendStore = ReturnType<typeof createSpendStore>

export function createSpendStore(postgres: Postgres) {
  return {
    /** The spending of a budget in a period, and the charges of those of the given calls that are settled. */
    async spending(
      { scope, accountId, id }: BudgetHolder,
      period: AllowancePeriod,
      callIds: readonly string[],
    ) {
      const [row] = await postgres.$queryRawUnsafe<Array<{ spent: string; charges: Record<string, string> }>>(
        spendingSql(TOTALS_OF[scope]),
        accountId,
        id,
        totalsOf(period),
        callIds,
      )
      if (!row) throw new Error(`the spending of ${scope} ${id} returned no row`)
      const charges = Object.entries(row.charges).map(([callId, charge]) => [callId, BigInt(charge)] as const)
      return { spentPico: BigInt(row.spent), charges: new Map(charges) }
    },

    /** The spending of the keys of each member of an account in a period; members without spending are omitted. */
    async byMember(accountId: string, period: AllowancePeriod): Promise<Map<string, bigint>> {
      const rows = await postgres.$queryRawUnsafe<Array<{ memberId: string; spent: string }>>(
        SPENT_BY_MEMBER,
        accountId,
        totalsOf(period),
      )
      return new Map(rows.map(({ memberId, spent }) => [memberId, BigInt(spent)]))
    },

    /** Returns a predicate for the holds of calls that a budget bounds; takebacks have no key. */
    async holdsOf(holder: BudgetHolder): Promise<(hold: Pick<OpenHold, 'keyId' | 'draws'>) => boolean> {
      const { scope, accountId, id } = holder
      switch (scope) {
        case 'key':
          return ({ keyId }) => keyId === id
        case 'member': {
          const where = { accountId, createdBy: id }
          const keys = await postgres.apiKey.findMany({ where, select: { id: true } })
          const ids = new Set(keys.map((key) => key.id))
          return ({ keyId }) => ids.has(keyId)
        }
        case 'account':
          return ({ keyId }) => keyId !== ''
        // A group has the calls that were admitted in it, even if their key left it.
        case 'project':
        case 'tag':
        case 'user': {
          const name = `${groupName(holder)}@`
          return ({ draws }) => draws.split(',').some((draw) => draw.startsWith(name))
        }
      }
    },
  }
}

export interface KeyActivity {
  /** Settled in the key's period. */
  spentPico: bigint
  /** Admission of its latest settled call, unix ms. */
  lastUsedAt: number | null
}

const ACTIVITY = `
SELECT key.id AS "keyId",
  (SELECT coalesce(sum(spent_pico), 0)::text FROM spend_totals AS total
   WHERE total.account_id = key.account_id AND total.key_id = key.id
     AND total.period = ANY (string_to_array(asked.periods, ','))) AS "spent",
  (SELECT last_call_at_ms::text FROM spend_totals AS total
   WHERE total.account_id = key.account_id AND total.key_id = key.id AND total.period = 'total') AS "lastUsedAt"
FROM unnest($1::text[], $2::text[]) AS asked (id, periods) JOIN api_keys AS key ON key.id = asked.id`

/** The use of some keys, each within its own period; of one snapshot. */
export type KeyActivityStore = ReturnType<typeof createKeyActivityStore>

export function createKeyActivityStore(postgres: Postgres) {
  return {
    async activity(keys: ReadonlyArray<{ keyId: string; period: AllowancePeriod }>) {
      const rows = await postgres.$queryRawUnsafe<
        Array<{ keyId: string; spent: string; lastUsedAt: string | null }>
      >(
        ACTIVITY,
        keys.map(({ keyId }) => keyId),
        keys.map(({ period }) => totalsOf(period).join(',')),
      )
      return new Map(
        rows.map(({ keyId, spent, lastUsedAt }) => [
          keyId,
          { spentPico: BigInt(spent), lastUsedAt: lastUsedAt === null ? null : Number(lastUsedAt) },
        ]),
      )
    },
  }
}
