import { randomBytes } from 'node:crypto'
import { createAccountDirectory } from './accounts/account-directory.ts'
import { createAccountStore } from './accounts/account-store.ts'
import { createCredentialStore } from './accounts/credential-store.ts'
import { createKeyHasher } from './accounts/key-hash.ts'
import { setKeyLimits } from './accounts/key-limit-store.ts'
import { createKeyStore } from './accounts/key-store.ts'
import { createPasswordHasher } from './accounts/password-hash.ts'
import { createProviderKeyStore } from './accounts/provider-key-store.ts'
import { createAuditRunStore } from './billing/audit/audit-run-store.ts'
import { createCallRecords } from './billing/call-records/call-records.ts'
import { readClaimWait } from './billing/call-records/claim-wait.ts'
import { createHoldStore } from './billing/holds/hold-store.ts'
import { adjustBalance } from './billing/ledger/adjust-balance.ts'
import { postLedger } from './billing/ledger/ledger-store.ts'
import { sumLedger } from './billing/ledger/ledger-sums.ts'
import { createMarginStore } from './billing/reports/margin-store.ts'
import { createUsageStore } from './billing/reports/usage-store.ts'
import { createConflictStore } from './billing/settlement/conflict-store.ts'
import { createQuarantineStore } from './billing/settlement/quarantine-store.ts'
import { createSettlementStore } from './billing/settlement/settlement-store.ts'
import { readRateHistory } from './catalog/rate-history-store.ts'
import type { Config } from './config.ts'
import { parseUsd } from './core/kernel/money.ts'
import { createAccountManagement } from './operations/account-management.ts'
import { createAlarmStore } from './operations/alarm-store.ts'
import { createAuditLog } from './operations/audit-log.ts'
import { createKeyManagement } from './operations/key-management.ts'
import { createOfferManagement } from './operations/offer-management.ts'
import { createSettlementDecisions } from './operations/settlement-decisions.ts'
import { createPaymentStore } from './payments/payment-store.ts'
import type { Logger } from './platform/observability/logger.ts'
import type { Postgres } from './platform/postgres/postgres.ts'
import { announceKeyChange, type KeyChange } from './platform/redis/key-changes.ts'
import type { Redis } from './platform/redis/redis.ts'
import { createSealer } from './platform/sealing.ts'
import { createDeliveryLog } from './webhooks/delivery-log.ts'
import { createEndpointStore, WEBHOOK_SECRET_PURPOSE } from './webhooks/endpoint-store.ts'

/** What services are built over; the caller owns the clients and closes them. */
export interface ServiceClients {
  postgres: Postgres
  /** A pool of its own for what reads many rows. */
  reportsPostgres: Postgres
  redis: Redis
  logger: Logger
  clock: () => number
}

/** The stores and services that the HTTP API and the commands share. A plugin or command names those it uses. */
export type Services = ReturnType<typeof createServices>

export function createServices(config: Readonly<Config>, clients: ServiceClients) {
  const { postgres, reportsPostgres, redis, logger, clock } = clients
  const { masterKeys } = config
  const announce = (change: KeyChange) => announceKeyChange(redis, change)
  const accounts = createAccountStore(postgres, postLedger, parseUsd(config.lowBalanceUsd))
  const directory = createAccountDirectory(reportsPostgres)
  const credentials = createCredentialStore(postgres)
  const passwords = createPasswordHasher()
  const keys = createKeyStore(postgres, createKeyHasher(masterKeys), randomBytes)
  const providerKeys = createProviderKeyStore({
    postgres,
    masterKeys,
    announceAccount: (accountId) => announce({ accountId }),
  })
  const gate = createHoldStore(redis)
  const quarantine = createQuarantineStore(postgres)
  const conflicts = createConflictStore(postgres)
  const auditLog = createAuditLog(postgres, logger)
  const { auditedAction } = auditLog
  return {
    accounts,
    directory,
    keys,
    providerKeys,
    gate,
    quarantine,
    conflicts,
    endpoints: createEndpointStore(postgres, createSealer(masterKeys, WEBHOOK_SECRET_PURPOSE), randomBytes),
    deliveries: createDeliveryLog(postgres),
    auditLog,
    alarms: createAlarmStore(postgres),
    audits: createAuditRunStore(reportsPostgres),
    payments: createPaymentStore(reportsPostgres),
    usage: createUsageStore(reportsPostgres),
    calls: createCallRecords(reportsPostgres),
    margin: createMarginStore(reportsPostgres),
    sumLedger: () => sumLedger(reportsPostgres),
    claimWait: () => readClaimWait(reportsPostgres, clock()),
    /** Newest first. */
    rateHistory: (modelId: string, limit: number) => readRateHistory(reportsPostgres, modelId, limit),
    accountManagement: createAccountManagement({
      accounts,
      directory,
      credentials,
      passwords,
      gate,
      adjustBalance: (adjustment) => adjustBalance(adjustment, { postgres, gate }),
      announce,
      auditedAction,
    }),
    keyManagement: createKeyManagement({
      keys,
      setKeyLimits: (keyId, limits) => setKeyLimits(postgres, keyId, limits),
      forgetAllowance: gate.forgetAllowance,
      announce,
      auditedAction,
      clock,
    }),
    offerManagement: createOfferManagement(redis, auditedAction),
    settlementDecisions: createSettlementDecisions({
      quarantine,
      conflicts,
      settlements: createSettlementStore(postgres),
      gate,
      auditedAction,
    }),
  }
}
