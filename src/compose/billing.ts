import { createAuditRunStore } from '../billing/audit/audit-run-store.ts'
import { createCallRecords, readClaimWait } from '../billing/call-records/call-records.ts'
import { createHoldStore } from '../billing/holds/hold-store.ts'
import { createAccountLedgerStore } from '../billing/ledger/account-ledger-store.ts'
import { adjustBalance } from '../billing/ledger/adjust-balance.ts'
import { createLedgerListStore, sumLedger } from '../billing/ledger/ledger-list-store.ts'
import { createStatementReader } from '../billing/ledger/statement-store.ts'
import { createMarginStore } from '../billing/reports/margin-store.ts'
import { createProviderHours } from '../billing/reports/provider-hours.ts'
import { createKeyActivityStore } from '../billing/reports/spend-store.ts'
import { createUsageStore } from '../billing/reports/usage-store.ts'
import { createConflictStore } from '../billing/settlement/conflict-store.ts'
import { createQuarantineStore } from '../billing/settlement/quarantine-store.ts'
import { createSettlementStore } from '../billing/settlement/settlement-store.ts'
import { createCompletionDiscard } from '../calls/protocol/idempotency.ts'
import type { Config } from '../config.ts'
import { createPayments, type PaymentsDependencies } from '../payments/create-payments.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { Redis } from '../platform/redis/redis.ts'

/** The ledger and its reports, holds, settlement and payments. */
export type Billing = Awaited<ReturnType<typeof composeBilling>>

export async function composeBilling(
  config: Readonly<Config>,
  clients: Omit<PaymentsDependencies, 'holds' | 'clock'> & {
    redis: Redis
    /** A separate pool for reading many rows. */
    reportsPostgres: Postgres
    /** For reports that may be outdated. */
    reportsReplica: Postgres
  },
) {
  const { postgres, reportsPostgres, reportsReplica, redis, logger } = clients
  const holds = createHoldStore(redis)
  return {
    holds,
    settlements: createSettlementStore(postgres, createCompletionDiscard(redis), async (callId) => {
      await holds.noteLedgerLoss()
      logger.error({ alarm: 'ledger-went-back', callIds: [callId] }, 'postgres lost commits of settlements')
    }),
    quarantine: createQuarantineStore(postgres),
    conflicts: createConflictStore(postgres),
    payments: await createPayments(config, { ...clients, holds, clock: Date.now }),
    adjustBalance: (adjustment: Parameters<typeof adjustBalance>[0]) =>
      adjustBalance(adjustment, { postgres, holds }),
    audits: createAuditRunStore(reportsPostgres),
    usage: createUsageStore(reportsReplica),
    calls: createCallRecords(reportsPostgres),
    keyActivity: createKeyActivityStore(reportsPostgres),
    ledger: createLedgerListStore(reportsPostgres),
    readStatement: createStatementReader(reportsReplica),
    accountLedger: createAccountLedgerStore(reportsPostgres),
    margin: createMarginStore(reportsReplica),
    providerHours: createProviderHours(reportsPostgres),
    sumLedger: () => sumLedger(reportsPostgres),
    claimWait: () => readClaimWait(reportsPostgres, Date.now()),
  }
}
