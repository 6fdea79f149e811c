import type { LedgerBalance } from '../../src/billing/hold-gate.ts'
import type { AccountSettlement, SettlementOutcome } from '../../src/billing/settlement-store.ts'
import type { SettlementRecord } from '../../src/core/call-job.ts'
import { picoUsd } from '../../src/core/money.ts'
import { capturePosting, customerAccount, type Posting } from '../../src/core/postings.ts'

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
  /** What calls were charged, and the first version of their account's balance that is less by it. */
  readonly chargedAt = new Map<string, { chargePico: bigint; version: bigint }>()

  openAccount(id: string, balancePico: bigint): void {
    this.accounts.set(id, { balancePico, version: 1n, history: new Map([[1n, balancePico]]) })
  }

  balance(id: string): LedgerBalance | null {
    const account = this.accounts.get(id)
    return account ? { balancePico: account.balancePico, version: account.version } : null
  }

  /** What src/billing/settlement-store.ts does, as one transaction. */
  settle(records: readonly SettlementRecord[]): SettlementOutcome {
    const quarantined: SettlementOutcome['quarantined'] = []
    const touched = new Map<string, Set<string>>()
    const charged = new Map<string, bigint>()
    for (const record of records) {
      const { id, accountId } = record
      const account = this.accounts.get(accountId)
      if (!this.calls.has(id)) {
        const chargePico = BigInt(record.chargePico)
        const left =
          account === undefined ? -1n : account.balancePico - (charged.get(accountId) ?? 0n) - chargePico
        if (left < 0n || chargePico < 0n || chargePico > BigInt(record.holdPico)) {
          const reason = 'refused by the database'
          this.quarantined.set(id, reason)
          quarantined.push({ callId: id, accountId, reason })
          continue
        }
        this.calls.set(id, record)
        if (chargePico > 0n) {
          this.postings.push(capturePosting(id, accountId, picoUsd(chargePico)))
          this.chargedAt.set(id, { chargePico, version: (account?.version ?? 0n) + 1n })
          charged.set(accountId, (charged.get(accountId) ?? 0n) + chargePico)
        }
      }
      if (!touched.has(accountId)) touched.set(accountId, new Set())
      touched.get(accountId)!.add(id)
    }
    for (const [accountId, chargePico] of charged) {
      const account = this.accounts.get(accountId)!
      account.balancePico -= chargePico
      account.version += 1n
      account.history.set(account.version, account.balancePico)
    }
    const accounts = [...touched].map(
      ([accountId, ids]): AccountSettlement => ({
        accountId,
        ...this.balance(accountId)!,
        released: [...ids].map((callId) => ({
          callId,
          chargePico: BigInt(this.calls.get(callId)!.chargePico),
        })),
      }),
    )
    return { accounts, quarantined }
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
