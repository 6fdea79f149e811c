import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../core/kernel/errors.ts'
import type { NewOperatorAction, OperatorActionStore } from '../../operations/operator-action-store.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { askingKey } from '../asking-account.ts'
import { infrastructureError } from '../plugins/answer-errors.ts'

export interface Deed {
  /** `account.suspend`, `key.revoke`, … */
  action: string
  target: string
  details: NewOperatorAction['details']
}

/**
 * Does what an operator asked for. It is written down before it is done, so that nothing is done that is not
 * written down; that it failed is written after it. Throws 503 when it cannot be written, and what the deed throws.
 */
export async function doDeed<T>(
  request: FastifyRequest,
  deed: Deed,
  { actions, logger }: { actions: OperatorActionStore; logger: Logger },
  work: () => Promise<T>,
): Promise<T> {
  const action = { ...deed, actor: askingKey(request).keyId, requestId: request.id }
  try {
    await actions.record({ ...action, outcome: 'asked' })
  } catch (cause) {
    logger.warn(
      { err: cause, action: deed.action },
      'an operator was turned away: nothing can be written down',
    )
    throw new ApiError(
      'overloaded',
      'This cannot be written down right now, so it is not done. Retry shortly.',
      {
        retryAfterSeconds: 1,
        cause,
      },
    )
  }
  logger.info({ ...deed, actor: action.actor, requestId: request.id }, 'an operator acts')
  try {
    return await work()
  } catch (error) {
    const failure = error instanceof ApiError ? error : infrastructureError(error)
    const why = failure?.code ?? 'internal_error'
    await actions
      .record({ ...action, details: { ...deed.details, error: why }, outcome: 'failed' })
      .catch((cause: unknown) => logger.warn({ err: cause }, 'a failed deed was not written down'))
    throw error
  }
}
