import { isUnserved, type SettlementRecord } from '../../core/calls/call-job.ts'
import { shortHash } from '../../core/kernel/short-hash.ts'
import { databaseMessage, isRefusedData, type Postgres } from '../../platform/postgres/postgres.ts'
import { findCharges } from '../call-records/known-calls.ts'
import type { ChargedCall } from '../holds/allowance-cache.ts'
import type { AccountSettlement } from '../holds/hold-store.ts'
import {
  type CreditedCall,
  creditReportedFailures,
  type DiscardCompletion,
} from './credit-reported-failures.ts'
import { UNNAMED } from './quarantine-store.ts'
import {
  isCallName,
  KEEP_CONFLICTS,
  OUTCOME_COLUMNS,
  SETTLE,
  type SettlementRows,
  settlementRows,
} from './settlement-statements.ts'

/** A settlement that the database rejected because of a broken invariant; its hold stays open. */
export interface QuarantinedCall {
  callId: string
  accountId: string
  reason: string
}

/** A call whose hold was released at no charge before the record arrived that charges it. */
export interface SupersededCall extends ChargedCall {
  callId: string
}

export interface SettlementOutcome {
  accounts: AccountSettlement[]
  quarantined: QuarantinedCall[]
  superseded: SupersededCall[]
  /** Charged calls that were credited because their client received an error. */
  credited: CreditedCall[]
}

const QUARANTINE = `
INSERT INTO quarantined_settlements (id, reason, record) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`

interface SettledRow {
  accountId: string
  /** 64-bit integers, as text. */
  balancePico: string
  version: string
  /** Number of calls recorded as their records state. */
  recordedCalls: number
  /** Of the calls that this transaction recorded. */
  newestCall: string | null
  supersededCalls: string[] | null
  hasNewest: boolean
}

export type SettlementStore = ReturnType<typeof createSettlementStore>

/** After this time a month of call records may have been archived. */
const REMEMBERED_MS = 86_400_000

/**
 * The settlement store over PostgreSQL. Without `discardCompletion`, no responses are kept for repeats. `onLedgerLoss` is
 * called when a call that this store settled has no record any more: PostgreSQL lost commits. If it rejects, so does the
 * settlement, and the next one calls it again.
 */
export function createSettlementStore(
  postgres: Postgres,
  discardCompletion: DiscardCompletion = async () => undefined,
  onLedgerLoss: (callId: string) => Promise<void> = async () => undefined,
) {
  /** The newest call of the last confirmed transaction that recorded any: repeated settlements record none. */
  let newest: { id: string; at: number } | null = null
  return {
    /**
     * Settles a batch in one transaction: call records, ledger and balances together, or nothing. Of several records of
     * one call the first counts, but a record with a serving offer outranks one without (see isUnserved), in either
     * order. A dropped record that differs is kept in `settlement_conflicts`; if it states that the client received an
     * error, the charge is credited. A record that breaks an invariant (charge above hold, balance below zero, unknown
     * account, malformed) is stored in `quarantined_settlements` and never fails the others. A call whose
     * Idempotency-Key belongs to a call settled before is recorded as its duplicate and charged nothing. Throws when
     * PostgreSQL is away; the batch may then be settled or not, and running it again is safe.
     */
    async settle(records: readonly SettlementRecord[]): Promise<SettlementOutcome> {
      const accounts = new Map<string, AccountSettlement>()
      const quarantined: QuarantinedCall[] = []
      const superseded: SupersededCall[] = []
      const contradicted: string[] = []
      const known = newest && performance.now() - newest.at < REMEMBERED_MS ? newest.id : null
      let isLost = false
      let recorded: string | null = null
      const quarantine = async (record: SettlementRecord, reason: string) => {
        const text = JSON.stringify(record) ?? 'null'
        const callId = isCallName(record?.id) ? record.id : `${UNNAMED}${shortHash(text)}`
        await postgres.$executeRawUnsafe(QUARANTINE, callId, reason, text)
        quarantined.push({ callId, accountId: String(record?.accountId), reason })
      }

      /** A rejected batch is halved until the rejected record is alone. */
      const settleRows = async (batch: SettlementRows[], areCounting: boolean): Promise<void> => {
        if (batch.length === 0) return
        try {
          const settled = await settleBatch(postgres, batch, known)
          isLost ||= !settled.hasNewest
          recorded = settled.newestCall ?? recorded
          if (!settled.isAllNew) contradicted.push(...batch.map(({ record }) => record.id))
          if (!areCounting) return
          for (const account of settled.accounts) merge(accounts, account)
          superseded.push(...settled.superseded)
        } catch (error) {
          if (!isRefusedData(error)) throw error
          const [only] = batch
          if (only && batch.length === 1) return quarantine(only.record, databaseMessage(error))
          const middle = Math.ceil(batch.length / 2)
          await settleRows(batch.slice(0, middle), areCounting)
          await settleRows(batch.slice(middle), areCounting)
        }
      }

      const rows: SettlementRows[] = []
      for (const record of records) {
        try {
          rows.push(settlementRows(record))
        } catch (error) {
          await quarantine(record, `malformed record: ${databaseMessage(error)}`)
        }
      }
      let { counting, others } = oneOfEachCall(rows)
      await settleRows(counting, true)
      // The other records of a call change nothing, but differences are kept, unless the first was rejected.
      const refused = new Set(quarantined.map(({ callId }) => callId))
      others = others.filter(({ record }) => !refused.has(record.id))
      if (isLost) {
        await onLedgerLoss(known!)
        newest = null
      }
      if (recorded !== null) newest = { id: recorded, at: performance.now() }
      while (others.length > 0) {
        ;({ counting, others } = oneOfEachCall(others))
        await settleRows(counting, false)
      }
      const credited =
        contradicted.length > 0 ? await creditReportedFailures(postgres, contradicted, discardCompletion) : []
      for (const { accountId, balancePico, version } of credited)
        merge(accounts, { accountId, balancePico, version, released: [] })
      return { accounts: [...accounts.values()], quarantined, superseded, credited }
    },
  }
}

/** The record of each call that counts, and the others. */
function oneOfEachCall(rows: SettlementRows[]): { counting: SettlementRows[]; others: SettlementRows[] } {
  const counting = new Map<string, SettlementRows>()
  const others: SettlementRows[] = []
  for (const row of rows) {
    const { id } = row.record
    const known = counting.get(id)
    const outranks = known && isUnserved(known.record) && !isUnserved(row.record)
    if (!known || outranks) counting.set(id, row)
    if (known && !saysTheSame(known, row)) others.push(outranks ? known : row)
  }
  return { counting: [...counting.values()], others }
}

const saysTheSame = (one: SettlementRows, other: SettlementRows): boolean =>
  OUTCOME_COLUMNS.every((name) => (one.call[name] ?? null) === (other.call[name] ?? null))

async function settleBatch(
  postgres: Postgres,
  batch: SettlementRows[],
  newest: string | null,
): Promise<
  Pick<SettlementOutcome, 'accounts' | 'superseded'> & {
    isAllNew: boolean
    hasNewest: boolean
    newestCall: string | null
  }
> {
  const calls = JSON.stringify(batch.map((rows) => rows.call))
  const entries = JSON.stringify(batch.flatMap((rows) => rows.entries))
  const settled = await postgres.plain.query<SettledRow>(SETTLE, [calls, entries, leastCallOf(batch), newest])
  const supersededCalls = new Set(settled[0]?.supersededCalls)
  const isAllNew = (settled[0]?.recordedCalls ?? 0) === batch.length && supersededCalls.size === 0
  if (!isAllNew) await postgres.plain.query(KEEP_CONFLICTS, [calls])
  // The charges of the calls when they were first settled; zero for duplicates.
  const charges = isAllNew
    ? null
    : await findCharges(
        postgres,
        batch.map(({ record }) => record.id),
      )
  const released = new Map<string, AccountSettlement['released']>(settled.map((row) => [row.accountId, []]))
  for (const { record } of batch) {
    const chargePico = charges?.get(record.id) ?? BigInt(record.chargePico)
    released.get(record.accountId)?.push({ callId: record.id, chargePico })
  }
  const superseded = await withMembers(
    postgres,
    batch.flatMap(({ record: { id, accountId, keyId, admittedAt, labels } }) =>
      supersededCalls.has(id)
        ? [{ callId: id, accountId, keyId, admittedAt, groups: labels?.groups ?? [] }]
        : [],
    ),
  )
  const accounts = settled.map(({ accountId, balancePico, version }) => ({
    accountId,
    balancePico: BigInt(balancePico),
    version: BigInt(version),
    released: released.get(accountId) ?? [],
  }))
  const { hasNewest = true, newestCall = null } = settled[0] ?? {}
  return { accounts, superseded, isAllNew, hasNewest, newestCall }
}

/** Adds the members who created the keys of some calls. */
async function withMembers(
  postgres: Postgres,
  calls: ReadonlyArray<Omit<SupersededCall, 'memberId'>>,
): Promise<SupersededCall[]> {
  if (calls.length === 0) return []
  const keys = await postgres.apiKey.findMany({
    where: { id: { in: calls.map(({ keyId }) => keyId) } },
    select: { id: true, createdBy: true },
  })
  const members = new Map(keys.map(({ id, createdBy }) => [id, createdBy]))
  return calls.map((call) => ({ ...call, memberId: members.get(call.keyId) ?? null }))
}

/** The hold of the cheapest call at admission; catalogs differ within a batch only during a change. */
function leastCallOf(batch: SettlementRows[]): bigint | null {
  let least: bigint | null = null
  for (const { record } of batch) {
    if (record.leastCallPico === undefined) continue
    const known = BigInt(record.leastCallPico)
    if (least === null || known > least) least = known
  }
  return least
}

/** Keeps the state of an account with the higher version. */
function merge(accounts: Map<string, AccountSettlement>, settled: AccountSettlement): void {
  const known = accounts.get(settled.accountId)
  if (!known) {
    accounts.set(settled.accountId, settled)
    return
  }
  const newer = settled.version > known.version ? settled : known
  accounts.set(settled.accountId, { ...newer, released: [...known.released, ...settled.released] })
}
