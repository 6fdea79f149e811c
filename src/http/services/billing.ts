import type { AuditRunStore } from '../../billing/audit/audit-run-store.ts'
import type { CallFeedback } from '../../billing/call-records/call-feedback-store.ts'
import type { CallRecords } from '../../billing/call-records/call-records.ts'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import type { AccountLedgerStore } from '../../billing/ledger/account-ledger-store.ts'
import type { LedgerListStore, LedgerSum } from '../../billing/ledger/ledger-list-store.ts'
import type { ReadStatement } from '../../billing/ledger/statement-store.ts'
import type { MarginStore } from '../../billing/reports/margin-store.ts'
import type { ProviderHours } from '../../billing/reports/provider-hours.ts'
import type { Reports } from '../../billing/reports/reports.ts'
import type { KeyActivityStore } from '../../billing/reports/spend-store.ts'
import type { UsageStore } from '../../billing/reports/usage-store.ts'
import type { ClaimWaitView } from '../../core/api/operations.ts'
import type { RefundTopUp } from '../../operators/top-up-refunds.ts'
import type { Payments } from '../../payments/create-payments.ts'
import type { Slots } from '../slots.ts'

declare module 'fastify' {
  interface FastifyInstance {
    billing: ApiBilling
  }
}

/** Balances, the ledger, payments and the records of calls, with the reports over them. */
export interface ApiBilling {
  holds: HoldStore
  ledger: LedgerListStore
  accountLedger: AccountLedgerStore
  sumLedger: () => Promise<LedgerSum[]>
  readStatement: ReadStatement
  audits: AuditRunStore
  payments: Payments
  refundTopUp: RefundTopUp
  /** The range of a top-up, USD, and whether invoices are issued. */
  limits: { topUpMinUsd: string; topUpMaxUsd: string }
  issuesInvoices: boolean
  calls: CallRecords
  /** Uses a pool that reports do not block. */
  recentCalls: CallRecords
  claimWait: () => Promise<ClaimWaitView>
  putFeedback: (feedback: CallFeedback) => Promise<void>
  reports: Reports
  usage: Pick<UsageStore, 'usage'>
  keyActivity: KeyActivityStore
  margin: MarginStore
  providerHours: ProviderHours
  /** Bounds the reports that signed-in accounts read at a time. */
  consoleSlots: Slots
}
