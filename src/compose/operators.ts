import type { Config } from '../config.ts'
import { createAccountManagement } from '../operators/account-management.ts'
import { createAlarmDestinationStore, DESTINATION_PURPOSE } from '../operators/alarm-destination-store.ts'
import { createAlarmDestinations } from '../operators/alarm-destinations.ts'
import { createAlarmStore } from '../operators/alarm-store.ts'
import { createAuditLog } from '../operators/audit-log.ts'
import { createGatewaySettings } from '../operators/gateway-settings.ts'
import { createKeyManagement } from '../operators/key-management.ts'
import { createOfferManagement } from '../operators/offer-management.ts'
import { createOperatorManagement } from '../operators/operator-management.ts'
import { createSettlementDecisions } from '../operators/settlement-decisions.ts'
import { createSurfaceGrantStore } from '../operators/surface-grant-store.ts'
import { createSurfaceManagement } from '../operators/surface-management.ts'
import { createSealer } from '../platform/sealing.ts'
import type { AccountClients, Accounts } from './accounts.ts'
import type { Billing } from './billing.ts'

export type Operators = ReturnType<typeof composeOperators>

/** What operators do to accounts, keys, offers and settlements, with its audit log. The HTTP API and the commands share it. */
export function composeOperators(
  config: Readonly<Config>,
  clients: AccountClients,
  accounts: Accounts & Billing,
) {
  const { postgres, redis, announce, logger, clock } = clients
  const auditLog = createAuditLog(postgres, logger)
  const { auditedAction } = auditLog
  const audited = { ...accounts, announce, auditLog, auditedAction, clock }
  return {
    auditLog,
    alarms: createAlarmStore(postgres),
    alarmDestinations: createAlarmDestinations({
      auditedAction,
      store: createAlarmDestinationStore(postgres, createSealer(config.masterKeys, DESTINATION_PURPOSE)),
      allowPrivate: config.alarmsAllowPrivate,
      hasMail: config.mail !== null,
    }),
    settings: createGatewaySettings(postgres, auditedAction, clock),
    accountManagement: createAccountManagement(audited),
    keyManagement: createKeyManagement(audited),
    operatorManagement: createOperatorManagement(audited),
    offerManagement: createOfferManagement(redis, auditedAction, logger),
    surfaceManagement: createSurfaceManagement({ ...audited, grants: createSurfaceGrantStore(postgres) }),
    settlementDecisions: createSettlementDecisions(audited),
  }
}
