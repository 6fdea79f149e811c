import type { FastifyRequest } from 'fastify'
import type { AccountActionStore } from '../accounts/account-action-store.ts'
import type { AccountActionName, ActionDetails } from '../core/accounts/account-action.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { standardKey } from './plugins/authenticate.ts'

export interface KeyActionServices {
  accountActions: Pick<AccountActionStore, 'record'>
  logger: Logger
}

/**
 * Records what was done to an account with one of its keys, as an action of who made the key; of the account itself
 * where that is not known. It has been done: a failure is logged, and fails no request.
 */
export const createRecordKeyAction =
  ({ accountActions, logger }: KeyActionServices) =>
  async (
    request: FastifyRequest,
    action: AccountActionName,
    target: string,
    details: ActionDetails,
  ): Promise<void> => {
    const { accountId, keyId, name, createdBy } = standardKey(request, 'Use a standard key.')
    const personId = createdBy ?? accountId
    const byKey = { ...details, api_key: name, api_key_id: keyId }
    try {
      await accountActions.record({ accountId, personId, action, target, details: byKey })
    } catch (error) {
      logger.error({ err: error, accountId, action, target }, 'an account action could not be recorded')
    }
  }
