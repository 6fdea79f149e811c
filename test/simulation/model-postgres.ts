import type { AccountSettlement, LedgerBalance } from '../../src/billing/holds/hold-store.ts'
import type { SettlementOutcome } from '../../src/billing/settlement/settlement-store.ts'
import { capturePosting, customerAccount, type Posting } from '../../src/core/billing/postings.ts'
import { isUnserved, type SettlementRecord } from '../../src/core/calls/call-job.ts'
import { picoUsd } from '../../src/core/kernel/money.ts'

interface ModelAccount extends LedgerBalance {
  /** The balance at each version. */
  history: Map<bigint, bigint>
}

/** The tables of the ledger, with what the database itself enforces. */
export class ModelPostgres {
  readonly accounts = new Map<string, ModelAccount>()
  readonly calls = new Map<string, SettlementRecord>()
  readonly postings: Posting[] = []
  readonly quarantined = new Map<string, string>()
  /**
   * Calls that an API instance says it told a failure of, with the tokens that it had delivered by then; should one be
   * charged more, that is credited.
   */
  readonly toldFailures = new Map<string, number>()
  /** What calls were charged, and the first version of their account's balance that is less by it. */
  readonly chargedAt = new Map<string, { chargePico: bigint; version: bigint }>()

  openAccount(id: string, balancePico: bigint): void {
    this.accounts.set(id, { balancePico, version: 1n, history: new Map([[1n, balancePico]]) })
  }

  balance(id: string): LedgerBalance | null {
    const account = this.accounts.get(id)
    return account ? { balancePico: account.balancePico, version: account.version } : null
  }

  versions(): Array<{ id: string; version: bigint }> {
    const all = [...this.accounts].map(([id, { version }]) => ({ id, version }))
    return all.sort((one, other) => (one.id < other.id ? -1 : 1))
  }

  /** What an account was charged, and what those of some calls were charged that are settled. */
  spending(accountId: string, callIds: readonly string[]) {
    const settled = [...this.calls.values()].filter((call) => call.accountId === accountId)
    const spentPico = settled.reduce((sum, { chargePico }) => sum + BigInt(chargePico), 0n)
    const known = callIds.filter((id) => this.calls.has(id))
    const charges = new Map(known.map((id) => [id, BigInt(this.calls.get(id)!.chargePico)]))
    return { spentPico, charges }
  }

  /** What src/billing/settlement/settlement-store.ts does, with a transaction for each part of a batch it has to halve. */
  settle(records: readonly SettlementRecord[]): SettlementOutcome {
    const first = new Map<string, SettlementRecord>()
    for (const record of records) {
      if (outranks(record, first.get(record.id))) first.set(record.id, record)
      const { id, usage } = record
      if (isToldFailure(record))
        this.toldFailures.set(id, Math.max(usage.completionTokens, this.toldFailures.get(id) ?? 0))
    }
    const superseded: SettlementOutcome['superseded'] = []
    const settled: SettlementRecord[] = []
    const quarantined: SettlementOutcome['quarantined'] = []
    const settleRows = (batch: SettlementRecord[]): void => {
      const known = new Set(this.calls.keys())
      const fresh = this.commit(batch)
      if (fresh) {
        settled.push(...batch)
        for (const { id, accountId, keyId, admittedAt } of fresh)
          if (known.has(id))
            superseded.push({
              ...{ callId: id, accountId, keyId, groups: [] },
              ...{ memberId: `member_${accountId}`, admittedAt },
            })
      }
      if (fresh) return
      if (batch.length === 1) {
        const { id, accountId } = batch[0]!
        this.quarantined.set(id, 'refused')
        quarantined.push({ callId: id, accountId, reason: 'refused' })
      } else {
        const middle = Math.ceil(batch.length / 2)
        settleRows(batch.slice(0, middle))
        settleRows(batch.slice(middle))
      }
    }
    if (first.size > 0) settleRows([...first.values()])
    const accountIds = new Set(settled.map((record) => record.accountId))
    const accounts = [...accountIds].map(
      (accountId): AccountSettlement => ({
        accountId,
        ...this.balance(accountId)!,
        released: settled
          .filter((record) => record.accountId === accountId)
          .map(({ id }) => ({ callId: id, chargePico: BigInt(this.calls.get(id)!.chargePico) })),
      }),
    )
    return { accounts, quarantined, superseded, credited: [] }
  }

  /** One transaction: all of a batch that is new, which it returns, or null when the database refuses any of it. */
  private commit(batch: readonly SettlementRecord[]): SettlementRecord[] | null {
    const fresh = batch.filter((record) => outranks(record, this.calls.get(record.id)))
    const totals = new Map<string, bigint>()
    for (const { accountId, chargePico, holdPico } of fresh) {
      const charge = BigInt(chargePico)
      if (charge < 0n || charge > BigInt(holdPico)) return null
      totals.set(accountId, (totals.get(accountId) ?? 0n) + charge)
    }
    for (const [accountId, total] of totals) {
      if (total > (this.accounts.get(accountId)?.balancePico ?? -1n)) return null
    }
    for (const record of fresh) {
      const { id, accountId } = record
      const chargePico = BigInt(record.chargePico)
      this.calls.set(id, record)
      if (chargePico === 0n) continue
      this.postings.push(capturePosting(id, accountId, picoUsd(chargePico)))
      this.chargedAt.set(id, { chargePico, version: this.accounts.get(accountId)!.version + 1n })
    }
    for (const [accountId, total] of totals) {
      if (total === 0n) continue
      const account = this.accounts.get(accountId)!
      account.balancePico -= total
      account.version += 1n
      account.history.set(account.version, account.balancePico)
    }
    return fresh
  }

  /** The sum of an account's entries. */
  entriesOf(accountId: string): bigint {
    const own = customerAccount(accountId)
    let sum = 0n
    for (const { entries } of this.postings)
      for (const entry of entries) if (entry.ledgerAccount === own) sum += entry.amountPico
    return sum
  }
}

const outranks = (record: SettlementRecord, known: SettlementRecord | undefined): boolean =>
  !known || (isUnserved(known) && !isUnserved(record))

/** As src/billing/settlement/credit-reported-failures.ts knows it. */
const isToldFailure = ({ id, requestId, status, claimedAt }: SettlementRecord): boolean =>
  status === 'failed' && claimedAt === null && requestId !== id
