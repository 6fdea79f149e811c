import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'
import type { CallHub } from './call-hub.ts'

export interface SuspensionDependencies {
  hubOf: (accountId: string) => Pick<CallHub, 'hasCallsOf' | 'failAccount'>
  accounts: { find: (accountId: string) => Promise<{ state: string } | null> }
  logger: Logger
}

/**
 * Ends the calls of an account at this instance once it is suspended; they are charged for what was delivered. It
 * reacts to changes of accounts that have calls here.
 */
export function endSuspendedCalls({ hubOf, accounts, logger }: SuspensionDependencies) {
  return (change: KeyChange): void => {
    if (!('accountId' in change)) return
    const { accountId } = change
    const hub = hubOf(accountId)
    if (!hub.hasCallsOf(accountId)) return
    accounts.find(accountId).then(
      (account) => {
        if (account?.state === 'suspended') hub.failAccount(accountId, CALL_ERRORS.suspended)
      },
      (error: unknown) => logger.warn({ err: error, accountId }, 'calls of a changed account not checked'),
    )
  }
}
