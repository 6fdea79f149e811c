import { DAY_MS } from '../../core/kernel/time.ts'
import type { ClickHouse } from '../../platform/clickhouse.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { readPosition } from '../analytics/analytics-tables.ts'
import type { AuditRunStore } from '../audit/audit-run-store.ts'
import type { HoldStore } from '../holds/hold-store.ts'
import { OPEN_QUARANTINE } from '../settlement/quarantine-store.ts'

export interface ArchiveDependencies {
  /** Without a statement timeout. */
  postgres: Postgres
  holds: Pick<HoldStore, 'accounts' | 'openHolds'>
  audits: Pick<AuditRunStore, 'latest'>
  /** Where calls are copied to; null: nowhere. */
  clickHouse: Pick<ClickHouse, 'select'> | null
  clock: () => number
}

/** From the end of a month until it can be archived: settlements and payments of its last calls have ended by then. */
export const REST_MS = 7 * DAY_MS
const COPY_LAG_MAX_MS = 3_600_000
const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/

const STATE = `
SELECT month_bound('chatcmpl_', $1::date) AS "from",
       month_bound('chatcmpl_', ($1::date + interval '1 month')::date) AS "to",
       extract(epoch FROM ($1::date + interval '1 month') AT TIME ZONE 'UTC') * 1000 AS "endsAt",
       month_partition('call_records', $1::date) AS "partition",
       (SELECT archived_at IS NOT NULL FROM archived_months WHERE month = $1::date) AS "isArchived",
       (SELECT min(right(child.relname, 7)) FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
        WHERE inhparent = 'call_records'::regclass AND child.relname ~ '_[0-9]{4}_[0-9]{2}$') AS "first"`

/** What is open of the calls of a month: one line for each kind of thing, with an example. */
const OPEN = `
SELECT count(*)::integer AS "count", min(id) AS "id", 'settlements in quarantine (quarantine list)' AS "what"
FROM quarantined_settlements AS q WHERE id < $2 AND id >= $1 AND ${OPEN_QUARANTINE}
UNION ALL
SELECT count(*)::integer, min(id), 'calls whose records contradict each other (conflict list)' FROM call_records
WHERE id < $2 AND id IN (SELECT call_id FROM settlement_conflicts EXCEPT SELECT call_id FROM call_reviews)
UNION ALL
SELECT count(*)::integer, min(call_id), 'x402 payments that are not closed (call-payment list)' FROM call_payments
WHERE call_id < $2 AND closed_at IS NULL
UNION ALL
SELECT count(*)::integer, min(transaction_id), 'ledger entries that no audit has proven (npm run audit)' FROM ledger_entries
WHERE transaction_id < $2 AND transaction_id >= 'chatcmpl_0' AND written_xact >= coalesce((SELECT proven_xact FROM audit_point), 0)
UNION ALL
SELECT count(*)::integer, min(id), 'calls in the default partition, which maintenance moves' FROM call_records_unplaced
WHERE id < $2 AND id >= $1`

interface MonthState {
  from: string
  to: string
  endsAt: string
  partition: string | null
  isArchived: boolean | null
  /** The oldest month with a partition, `2026_03`. */
  first: string | null
}

/** Throws an Error if a month is not over or not the oldest one, if something of its calls is open, or the audit is not in order. */
export async function refuseOpenMonth(
  { postgres, holds, audits, clickHouse, clock }: ArchiveDependencies,
  month: string,
): Promise<void> {
  if (!MONTH.test(month)) throw new Error('name the month as 2026-03')
  const [state] = await postgres.plain.query<MonthState>(STATE, [`${month}-01`])
  if (!state?.partition) {
    throw new Error(
      state?.isArchived ? `${month} is archived already` : `the database has no partition of ${month}`,
    )
  }
  const first = state.first?.replace('_', '-')
  if (first !== month) throw new Error(`${first} is older than ${month}: archive it first`)
  const restsUntil = Number(state.endsAt) + REST_MS
  if (clock() < restsUntil)
    throw new Error(`${month} can be archived from ${new Date(restsUntil).toISOString().slice(0, 10)} on`)
  const run = await audits.latest()
  if (!run?.ok || run.at.getTime() < Number(state.endsAt))
    throw new Error('the latest audit is not in order, or older than the month: run "npm run audit" first')
  if (clickHouse && clock() - (await readPosition(clickHouse)).completeAtMs > COPY_LAG_MAX_MS)
    throw new Error('the copy of calls in ClickHouse is more than an hour behind')
  const open = await postgres.plain.query<{ count: number; id: string; what: string }>(OPEN, [
    state.from,
    state.to,
  ])
  for (const { count, id, what } of open)
    if (count > 0) throw new Error(`${month} has ${count} ${what}, ${id} for one`)
  for (const accountId of await holds.accounts()) {
    const held = (await holds.openHolds(accountId)).find(({ callId }) => callId < state.to)
    if (held) throw new Error(`${month} has an open hold: ${held.callId} of ${accountId}`)
  }
}
