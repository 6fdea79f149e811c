import type { UsageGroup } from '../../core/api/usage.ts'
import type { AllowancePeriod } from '../../core/billing/allowance-period.ts'
import type { BudgetHolder, BudgetScope } from '../../core/billing/budget.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { isoDay } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** Sums over some calls. */
export interface UsageSums {
  calls: bigint
  promptTokens: bigint
  completionTokens: bigint
  chargePico: bigint
}

export interface UsageRow extends UsageSums {
  /** The day (`2027-01-31`, UTC), the model as named in responses, or the key's id. */
  group: string
  /** The key's name; null for other groups. */
  keyName: string | null
}

/** Usage and cost of an account's calls in a period, by group and in total, from one snapshot. */
export interface Usage {
  rows: UsageRow[]
  total: UsageSums
}

const GROUPS: Record<UsageGroup, string> = {
  day: 'c.admitted_at_ms / 86400000',
  model: 'c.requested_model',
  key: 'c.key_id',
}

/** Sums are text, which no driver rounds. The total comes first, also when there are no calls. */
const usageSql = (group: string) => `
WITH summed AS (
  SELECT ${group} AS "group", grouping(${group}) = 1 AS "isTotal", count(*) AS "calls",
         coalesce(sum(c.prompt_tokens), 0) AS "promptTokens",
         coalesce(sum(c.completion_tokens), 0) AS "completionTokens",
         coalesce(sum(c.charge_pico), 0) AS "chargePico"
  FROM call_records AS c
  WHERE c.account_id = $1 AND c.admitted_at_ms >= $2::bigint AND c.admitted_at_ms < $3::bigint
  GROUP BY GROUPING SETS ((${group}), ())
)
SELECT summed."group"::text AS "group", "isTotal", k.name AS "keyName", "calls"::text AS "calls",
       "promptTokens"::text AS "promptTokens", "completionTokens"::text AS "completionTokens",
       "chargePico"::text AS "chargePico"
FROM summed LEFT JOIN api_keys AS k ON k.id = summed."group"::text
ORDER BY "isTotal" DESC, summed."group" LIMIT $4::integer`

type Row = Record<keyof UsageSums, string> & { group: string | null; keyName: string | null }

export type UsageStore = ReturnType<typeof createUsageStore>

export function createUsageStore(postgres: Postgres) {
  return {
    /**
     * Sums the settled calls of an account that were admitted in a period. Null when there are more groups than
     * `rowsMax`.
     */
    async usage(accountId: string, { fromMs, toMs }: TimeRange, group: UsageGroup, rowsMax: number) {
      const [total, ...rows] = await postgres.$queryRawUnsafe<Row[]>(
        usageSql(GROUPS[group]),
        accountId,
        BigInt(fromMs),
        BigInt(toMs),
        rowsMax + 2,
      )
      if (!total) throw new Error('the sums of the usage returned no row')
      if (rows.length > rowsMax) return null
      return {
        total: toSums(total),
        rows: rows.map((row) => ({
          group: group === 'day' ? isoDay(Number(row.group)) : (row.group ?? ''),
          keyName: row.keyName,
          ...toSums(row),
        })),
      }
    },
  }
}

const toSums = (row: Row): UsageSums => ({
  calls: BigInt(row.calls),
  promptTokens: BigInt(row.promptTokens),
  completionTokens: BigInt(row.completionTokens),
  chargePico: BigInt(row.chargePico),
})

/** The calls that a budget bounds; `$1` is the account, `$2` the owner of the budget. */
const CALLS_OF: Record<BudgetScope, string> = {
  key: 'key_id = $2 AND $1::text IS NOT NULL',
  member: 'key_id IN (SELECT id FROM api_keys WHERE account_id = $1 AND created_by = $2)',
  account: 'account_id = $1 AND $2::text IS NOT NULL',
}

/** One statement, so that both results are of one snapshot. The sum is read from an index alone. */
const spendingSql = (calls: string) => `
SELECT (
  SELECT coalesce(sum(charge_pico), 0)::text FROM call_records
  WHERE ${calls} AND admitted_at_ms >= $3::bigint AND ($4::bigint IS NULL OR admitted_at_ms < $4::bigint)
) AS "spent", (
  SELECT coalesce(json_object_agg(id, charge_pico::text), '{}') FROM call_records WHERE id = ANY ($5::text[])
) AS "charges"`

/** Read from an index alone, one range a key. */
const SPENT_BY_MEMBER = `
SELECT key.created_by AS "memberId", sum(call.charge_pico)::text AS "spent"
FROM api_keys AS key JOIN call_records AS call ON call.key_id = key.id AND call.admitted_at_ms >= $2::bigint
WHERE key.account_id = $1 AND key.created_by IS NOT NULL GROUP BY key.created_by`

/** The spending of budgets, from the call records. A call belongs to the period it was admitted in. */
export type SpendStore = ReturnType<typeof createSpendStore>

export function createSpendStore(postgres: Postgres) {
  return {
    /** The spending of a budget in a period, and the charges of those of the given calls that are settled. */
    async spending(
      { scope, accountId, id }: BudgetHolder,
      { startsAt, endsAt }: AllowancePeriod,
      callIds: readonly string[],
    ) {
      const [row] = await postgres.$queryRawUnsafe<Array<{ spent: string; charges: Record<string, string> }>>(
        spendingSql(CALLS_OF[scope]),
        accountId,
        id,
        BigInt(startsAt),
        endsAt === null ? null : BigInt(endsAt),
        callIds,
      )
      if (!row) throw new Error(`the spending of ${scope} ${id} returned no row`)
      const charges = Object.entries(row.charges).map(([callId, charge]) => [callId, BigInt(charge)] as const)
      return { spentPico: BigInt(row.spent), charges: new Map(charges) }
    },

    /** The spending of the keys of each member of an account since a time, unix ms; members without spending are omitted. */
    async byMember(accountId: string, sinceMs: number): Promise<Map<string, bigint>> {
      const rows = await postgres.$queryRawUnsafe<Array<{ memberId: string; spent: string }>>(
        SPENT_BY_MEMBER,
        accountId,
        BigInt(sinceMs),
      )
      return new Map(rows.map(({ memberId, spent }) => [memberId, BigInt(spent)]))
    },

    /** Returns a predicate for the keys whose calls a budget bounds; takebacks have no key. */
    async keysOf({ scope, accountId, id }: BudgetHolder): Promise<(keyId: string) => boolean> {
      switch (scope) {
        case 'key':
          return (keyId) => keyId === id
        case 'member': {
          const where = { accountId, createdBy: id }
          const keys = await postgres.apiKey.findMany({ where, select: { id: true } })
          const ids = new Set(keys.map((key) => key.id))
          return (keyId) => ids.has(keyId)
        }
        case 'account':
          return (keyId) => keyId !== ''
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

/** Read from an index alone, one range a key. */
const ACTIVITY = `
SELECT key.id AS "keyId",
  (SELECT coalesce(sum(charge_pico), 0)::text FROM call_records
   WHERE key_id = key.id AND admitted_at_ms >= key.starts_at) AS "spent",
  (SELECT max(admitted_at_ms)::text FROM call_records WHERE key_id = key.id) AS "lastUsedAt"
FROM unnest($1::text[], $2::bigint[]) AS key (id, starts_at)`

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
        keys.map(({ period }) => BigInt(period.startsAt)),
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
