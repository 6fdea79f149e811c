import type { FastifyRequest } from 'fastify'
import type { AccountActionStore } from '../../accounts/account-action-store.ts'
import type { AccountActionName, ActionDetails } from '../../core/accounts/account-action.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { standardKey } from '../plugins/authenticate.ts'

export interface KeyActionServices {
  accountActions: Pick<AccountActionStore, 'record'>
  logger: Logger
}

/**
 * Records an action on an account with one of its keys, in the name of the key's creator, or of the account itself if
 * the creator is unknown. The action is completed, so a failure is logged and does not fail the request.
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
      logger.error({ err: error, accountId, action, target }, 'account action not recorded')
    }
  }
