import type { HasHolder } from '../../accounts/account-holder.ts'
import type { AccountDirectory } from '../../accounts/account-store.ts'
import type { SentMailStore } from '../../accounts/mail/sent-mail-store.ts'
import type { OperatorSignIn } from '../../accounts/operators/operator-sign-in.ts'
import type { OperatorStore } from '../../accounts/operators/operator-store.ts'
import type { AccountManagement } from '../../operators/account-management.ts'
import type { AccountOpening } from '../../operators/account-opening.ts'
import type { AlarmDestinations } from '../../operators/alarm-destinations.ts'
import type { AlarmStore } from '../../operators/alarm-store.ts'
import type { AuditLog } from '../../operators/audit-log.ts'
import type { GatewaySettingsStore } from '../../operators/gateway-settings.ts'
import type { KeyManagement } from '../../operators/key-management.ts'
import type { OfferManagement } from '../../operators/offer-management.ts'
import type { OperatorManagement } from '../../operators/operator-management.ts'
import type { SurfaceManagement } from '../../operators/surface-management.ts'
import type { CallQueues } from '../../platform/queues/call-queues.ts'
import type { Queues } from '../../platform/queues/queue-stats.ts'
import type { Redis } from '../../platform/redis/redis.ts'

declare module 'fastify' {
  interface FastifyInstance {
    operators: ApiOperators
  }
}

/** Operators, their sign-in, what they do to accounts and offers, and the state of the fleet. */
export interface ApiOperators {
  operators: OperatorStore
  /** Null: operators sign in with admin keys. */
  operatorSignIn: OperatorSignIn | null
  /** Whether sign-in with admin keys is disabled. */
  ssoOnly: boolean
  auditLog: AuditLog
  accountManagement: AccountManagement
  accountOpening: AccountOpening
  keyManagement: KeyManagement
  operatorManagement: OperatorManagement
  offerManagement: OfferManagement
  surfaceManagement: SurfaceManagement
  settings: GatewaySettingsStore
  alarms: AlarmStore
  alarmDestinations: AlarmDestinations
  directory: AccountDirectory
  hasHolder: HasHolder
  sentMails: SentMailStore
  redis: Redis
  queues: Queues & { calls: readonly CallQueues[] }
  /** The clock of this host, which operators' pages compare with reports of processes; calls use the fleet's. */
  hostClock: () => number
}
