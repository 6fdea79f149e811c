import { type AccountDirectory, createAccountDirectory } from '../../accounts/account-directory.ts'
import type { AccountStore } from '../../accounts/account-store.ts'
import { type KeyLimits, setKeyLimits } from '../../accounts/key-limit-store.ts'
import type { KeyStore } from '../../accounts/key-store.ts'
import { type AuditRunStore, createAuditRunStore } from '../../billing/audit/audit-run-store.ts'
import { type CallRecords, createCallRecords } from '../../billing/call-records/call-records.ts'
import { readClaimWait } from '../../billing/call-records/claim-wait.ts'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import { type AdjustedBalance, type Adjustment, adjustBalance } from '../../billing/ledger/adjust-balance.ts'
import { type LedgerSum, sumLedger } from '../../billing/ledger/ledger-sums.ts'
import { createMarginStore, type MarginStore } from '../../billing/reports/margin-store.ts'
import { createUsageStore, type UsageStore } from '../../billing/reports/usage-store.ts'
import type { CheckedCatalog } from '../../catalog/catalog-check.ts'
import { type CatalogEdits, createCatalogEdits } from '../../catalog/catalog-edits-store.ts'
import type { CatalogStore } from '../../catalog/catalog-store.ts'
import { type RateEntry, readRateHistory } from '../../catalog/rate-history-store.ts'
import type { BreakerView, ClaimWaitView } from '../../core/api/operations.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { type AlarmStore, createAlarmStore } from '../../operations/alarm-store.ts'
import {
  createOperatorActionStore,
  type OperatorActionStore,
} from '../../operations/operator-action-store.ts'
import { createPaymentStore, type PaymentStore } from '../../payments/payment-store.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { Queues } from '../../platform/queues/queue-figures.ts'
import { announceKeyChange, type KeyChange } from '../../platform/redis/key-changes.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import type { OfferHealth } from '../../routing/offer-health.ts'
import { breakerViews } from './breaker-views.ts'

/** What operators read and do. */
export interface OperatorServices {
  redis: Redis
  queues: Queues
  gate: HoldStore
  accounts: AccountStore
  directory: AccountDirectory
  keys: KeyStore
  payments: Pick<PaymentStore, 'list'>
  usage: UsageStore
  calls: Pick<CallRecords, 'find' | 'search'>
  margin: MarginStore
  sumLedger: () => Promise<LedgerSum[]>
  claimWait: () => Promise<ClaimWaitView>
  actions: OperatorActionStore
  audits: AuditRunStore
  auditEveryMinutes: number
  alarms: AlarmStore
  adjust: (adjustment: Adjustment) => Promise<AdjustedBalance>
  announce: (change: KeyChange) => Promise<void>
  /** False when there is no such key in use. */
  setKeyLimits: (keyId: string, limits: KeyLimits) => Promise<boolean>
  forgetAllowance: HoldStore['forgetAllowance']
  breakers: () => BreakerView[]
  catalog: () => CatalogSnapshot
  catalogEdits: CatalogEdits
  checkEdits: (content: unknown) => CheckedCatalog
  /** Newest first. */
  rateHistory: (modelId: string, limit: number) => Promise<RateEntry[]>
  logger: Logger
  clock: () => number
}

export interface OperatorServicesOptions
  extends Pick<
    OperatorServices,
    'redis' | 'queues' | 'gate' | 'accounts' | 'keys' | 'auditEveryMinutes' | 'logger' | 'clock'
  > {
  postgres: Postgres
  /** A pool apart, so that a report keeps no key and no balance waiting. */
  reportsPostgres: Postgres
  health: Pick<OfferHealth, 'view' | 'fleetNow'>
  catalogStore: Pick<CatalogStore, 'snapshot' | 'check'>
}

export function createOperatorServices({
  postgres,
  reportsPostgres,
  health,
  catalogStore,
  ...given
}: OperatorServicesOptions): OperatorServices {
  const { redis, gate, clock } = given
  return {
    ...given,
    directory: createAccountDirectory(reportsPostgres),
    payments: createPaymentStore(reportsPostgres),
    usage: createUsageStore(reportsPostgres),
    calls: createCallRecords(reportsPostgres),
    margin: createMarginStore(reportsPostgres),
    sumLedger: () => sumLedger(reportsPostgres),
    claimWait: () => readClaimWait(reportsPostgres, clock()),
    actions: createOperatorActionStore(postgres),
    audits: createAuditRunStore(reportsPostgres),
    alarms: createAlarmStore(postgres),
    adjust: (adjustment) => adjustBalance(adjustment, { postgres, gate }),
    announce: (change) => announceKeyChange(redis, change),
    setKeyLimits: (keyId, limits) => setKeyLimits(postgres, keyId, limits),
    forgetAllowance: gate.forgetAllowance,
    breakers: () => breakerViews(health),
    catalog: catalogStore.snapshot,
    catalogEdits: createCatalogEdits({ postgres, redis, check: catalogStore.check }),
    checkEdits: catalogStore.check,
    rateHistory: (modelId, limit) => readRateHistory(reportsPostgres, modelId, limit),
  }
}
