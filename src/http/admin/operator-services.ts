import { type AccountDirectory, createAccountDirectory } from '../../accounts/account-directory.ts'
import type { AccountStore } from '../../accounts/account-store.ts'
import { type KeyLimits, setKeyLimits } from '../../accounts/key-limit-store.ts'
import type { KeyStore } from '../../accounts/key-store.ts'
import { type AdjustedBalance, type Adjustment, adjustBalance } from '../../billing/adjust-balance.ts'
import { type AlarmStore, createAlarmStore } from '../../billing/alarm-store.ts'
import { type AllowanceStore, createAllowanceStore } from '../../billing/allowance-store.ts'
import { type AuditRunStore, createAuditRunStore } from '../../billing/audit-run-store.ts'
import { type CallRecordStore, createCallRecordStore } from '../../billing/call-record-store.ts'
import { type CallSearchStore, createCallSearchStore } from '../../billing/call-search-store.ts'
import { readClaimWait } from '../../billing/claim-wait.ts'
import { createGateInspection, type GateInspection } from '../../billing/gate-inspection.ts'
import type { HoldGate } from '../../billing/hold-gate.ts'
import { type LedgerSum, sumLedger } from '../../billing/ledger-sums.ts'
import { createMarginStore, type MarginStore } from '../../billing/margin-store.ts'
import { createOperatorActionStore, type OperatorActionStore } from '../../billing/operator-action-store.ts'
import { createPaymentStore, type PaymentStore } from '../../billing/payments/payment-store.ts'
import { createReserveTakeback } from '../../billing/payments/takeback-hold.ts'
import { createSpendStore } from '../../billing/spend-store.ts'
import { createUsageStore, type UsageStore } from '../../billing/usage-store.ts'
import type { CheckedCatalog } from '../../catalog/catalog-check.ts'
import { type CatalogEdits, createCatalogEdits } from '../../catalog/catalog-edits-store.ts'
import type { CatalogStore } from '../../catalog/catalog-store.ts'
import type { OfferHealth } from '../../catalog/offer-health.ts'
import { type RateEntry, readRateHistory } from '../../catalog/rate-history-store.ts'
import type { CatalogSnapshot } from '../../core/catalog.ts'
import type { BreakerView, ClaimWaitView } from '../../core/operator-api.ts'
import { announceKeyChange, type KeyChange } from '../../platform/key-changes.ts'
import type { Logger } from '../../platform/logger.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Queues } from '../../platform/queue-figures.ts'
import type { Redis } from '../../platform/redis.ts'
import { breakerViews } from './breaker-views.ts'

/** What operators read and do. */
export interface OperatorServices {
  redis: Redis
  queues: Queues
  gate: HoldGate
  inspection: GateInspection
  accounts: AccountStore
  directory: AccountDirectory
  keys: KeyStore
  payments: Pick<PaymentStore, 'list'>
  usage: UsageStore
  calls: Pick<CallRecordStore, 'find'>
  search: CallSearchStore
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
  forgetAllowance: AllowanceStore['forget']
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
  const reserveTakeback = createReserveTakeback(redis, gate, clock)
  return {
    ...given,
    inspection: createGateInspection(redis),
    directory: createAccountDirectory(reportsPostgres),
    payments: createPaymentStore(reportsPostgres),
    usage: createUsageStore(reportsPostgres),
    calls: createCallRecordStore(reportsPostgres),
    search: createCallSearchStore(reportsPostgres),
    margin: createMarginStore(reportsPostgres),
    sumLedger: () => sumLedger(reportsPostgres),
    claimWait: () => readClaimWait(reportsPostgres, clock()),
    actions: createOperatorActionStore(postgres),
    audits: createAuditRunStore(reportsPostgres),
    alarms: createAlarmStore(postgres),
    adjust: (adjustment) => adjustBalance(adjustment, { postgres, gate, reserveTakeback }),
    announce: (change) => announceKeyChange(redis, change),
    setKeyLimits: (keyId, limits) => setKeyLimits(postgres, keyId, limits),
    forgetAllowance: createAllowanceStore(redis, createSpendStore(reportsPostgres)).forget,
    breakers: () => breakerViews(health),
    catalog: catalogStore.snapshot,
    catalogEdits: createCatalogEdits({ postgres, redis, check: catalogStore.check }),
    checkEdits: catalogStore.check,
    rateHistory: (modelId, limit) => readRateHistory(reportsPostgres, modelId, limit),
  }
}
