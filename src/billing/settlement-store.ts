import type { SettlementRecord } from '../core/call-job.ts'
import { databaseMessage, isRefusedData, type Postgres } from '../platform/postgres.ts'
import type { LedgerBalance, ReleasedHold } from './hold-gate.ts'
import { CALL_COLUMNS, type SettlementRows, settlementRows } from './settlement-row.ts'

/** One account after a batch, and the holds of its calls, ready for the gate. */
export interface AccountSettlement extends LedgerBalance {
  accountId: string
  released: ReleasedHold[]
}

/** A settlement the database refused: a broken invariant, set aside with its hold still open. */
export interface QuarantinedCall {
  callId: string
  accountId: string
  reason: string
}

export interface SettlementOutcome {
  accounts: AccountSettlement[]
  quarantined: QuarantinedCall[]
}

export interface SettlementStore {
  /**
   * Settles a batch in one transaction: call records, ledger and balances together, or nothing. A call that
   * was settled before changes nothing, whatever its record says now, and its first charge is what counts.
   * A record that breaks an invariant (charge above hold, balance below zero, unknown account, malformed)
   * is set aside in `quarantined_settlements` and never fails its neighbours.
   * Throws when PostgreSQL is away; the batch may then be settled or not, and running it again is safe.
   */
  settle(records: readonly SettlementRecord[]): Promise<SettlementOutcome>
}

const names = Object.keys(CALL_COLUMNS)
const columns = names.join(', ')
const typedColumns = Object.entries(CALL_COLUMNS).map(([name, type]) => `${name} ${type}`)
const selected = names.map((name) => (name === 'account_id' ? 'account.id' : `call.${name}`))

/**
 * One statement is one transaction and one round trip. `account` locks the rows in the order of their ids,
 * so that writers cannot deadlock; it goes first because everything reads from it, and reads the newest
 * balances because locking does. An unknown account gives a null account id, which the database refuses.
 * `charged` decides what is new; entries, balances and versions follow from it alone. An account whose balance
 * falls below the cheapest call ($3) is exhausted.
 */
const SETTLE = `
WITH call AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS call (${typedColumns.join(', ')})
), account AS MATERIALIZED (
  SELECT id, balance_pico, version FROM accounts
  WHERE id IN (SELECT account_id FROM call) ORDER BY id FOR UPDATE
), recorded AS (
  INSERT INTO call_records (${columns})
  SELECT ${selected.join(', ')} FROM call LEFT JOIN account ON account.id = call.account_id
  ON CONFLICT (id) DO NOTHING
  RETURNING id, account_id, charge_pico
), charged AS MATERIALIZED (
  SELECT id, account_id, charge_pico FROM recorded WHERE charge_pico > 0
), transactions AS (
  INSERT INTO ledger_transactions (id, kind, account_id) SELECT id, 'capture', account_id FROM charged
), entries AS (
  INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
  SELECT charged.id, 'capture', entry.ledger_account, entry.amount_pico
  FROM json_to_recordset($2::json) AS entry (transaction_id text, ledger_account text, amount_pico bigint)
  JOIN charged ON charged.id = entry.transaction_id
), total AS (
  SELECT account_id, sum(charge_pico)::bigint AS charge_pico FROM charged GROUP BY account_id
), changed AS (
  UPDATE accounts SET
    balance_pico = accounts.balance_pico - total.charge_pico,
    version = accounts.version + 1,
    state = CASE WHEN accounts.balance_pico - total.charge_pico < greatest($3::bigint, 1)
                  AND accounts.state <> 'suspended'
                 THEN 'exhausted' ELSE accounts.state END
  FROM total WHERE accounts.id = total.account_id
  RETURNING accounts.id, accounts.balance_pico, accounts.version
)
SELECT account.id AS "accountId",
       coalesce(changed.balance_pico, account.balance_pico) AS "balancePico",
       coalesce(changed.version, account.version) AS "version",
       (SELECT count(*)::int FROM recorded) AS "recordedCalls"
FROM account LEFT JOIN changed ON changed.id = account.id`

const STORED_CHARGES = 'SELECT id, charge_pico AS "chargePico" FROM call_records WHERE id = ANY ($1::text[])'

const QUARANTINE = `
INSERT INTO quarantined_settlements (id, reason, record) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`

type SettledRow = LedgerBalance & { accountId: string; recordedCalls: number }

/** The settlement store over PostgreSQL. */
export function createSettlementStore(postgres: Postgres): SettlementStore {
  return {
    async settle(records) {
      const accounts = new Map<string, AccountSettlement>()
      const quarantined: QuarantinedCall[] = []
      const rows: SettlementRows[] = []
      const quarantine = async (record: SettlementRecord, reason: string) => {
        await postgres.$executeRawUnsafe(QUARANTINE, record.id, reason, JSON.stringify(record))
        quarantined.push({ callId: record.id, accountId: record.accountId, reason })
      }

      /** A refused batch is halved until the refused record stands alone. */
      const settleRows = async (batch: SettlementRows[]): Promise<void> => {
        if (batch.length === 0) return
        try {
          for (const settled of await settleBatch(postgres, batch)) merge(accounts, settled)
        } catch (error) {
          if (!isRefusedData(error)) throw error
          const [only] = batch
          if (only && batch.length === 1) return quarantine(only.record, databaseMessage(error))
          const middle = Math.ceil(batch.length / 2)
          await settleRows(batch.slice(0, middle))
          await settleRows(batch.slice(middle))
        }
      }

      // The first record of a call counts, within a batch as across batches.
      const seen = new Set<string>()
      for (const record of records) {
        if (seen.has(record.id)) continue
        seen.add(record.id)
        try {
          rows.push(settlementRows(record))
        } catch (error) {
          await quarantine(record, `malformed record: ${databaseMessage(error)}`)
        }
      }
      await settleRows(rows)
      return { accounts: [...accounts.values()], quarantined }
    },
  }
}

async function settleBatch(postgres: Postgres, batch: SettlementRows[]): Promise<AccountSettlement[]> {
  const settled = await postgres.$queryRawUnsafe<SettledRow[]>(
    SETTLE,
    JSON.stringify(batch.map((rows) => rows.call)),
    JSON.stringify(batch.flatMap((rows) => rows.entries)),
    leastCallOf(batch),
  )
  const recordedCalls = settled[0]?.recordedCalls ?? 0
  const charges = recordedCalls === batch.length ? null : await storedCharges(postgres, batch)
  const released = new Map<string, ReleasedHold[]>(settled.map((row) => [row.accountId, []]))
  for (const { record } of batch) {
    const chargePico = charges?.get(record.id) ?? BigInt(record.chargePico)
    released.get(record.accountId)?.push({ callId: record.id, chargePico })
  }
  return settled.map(({ accountId, balancePico, version }) => ({
    accountId,
    balancePico,
    version,
    released: released.get(accountId) ?? [],
  }))
}

/** What the cheapest call held when these were admitted; catalogs differ within a batch only while they change. */
function leastCallOf(batch: SettlementRows[]): bigint {
  let least = 0n
  for (const { record } of batch) {
    const known = BigInt(record.leastCallPico ?? '0')
    if (known > least) least = known
  }
  return least
}

/** What the calls were charged when they were first settled. */
async function storedCharges(postgres: Postgres, batch: SettlementRows[]): Promise<Map<string, bigint>> {
  const ids = batch.map((rows) => rows.record.id)
  const rows = await postgres.$queryRawUnsafe<Array<{ id: string; chargePico: bigint }>>(STORED_CHARGES, ids)
  return new Map(rows.map((row) => [row.id, row.chargePico]))
}

/** Of two states of one account the one with the higher version is the newer. */
function merge(accounts: Map<string, AccountSettlement>, settled: AccountSettlement): void {
  const known = accounts.get(settled.accountId)
  if (!known) {
    accounts.set(settled.accountId, settled)
    return
  }
  const newer = settled.version > known.version ? settled : known
  accounts.set(settled.accountId, { ...newer, released: [...known.released, ...settled.released] })
}
