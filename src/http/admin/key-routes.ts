import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { KeyLimitsRequest, OperatorKey } from '../../core/api/keys.ts'
import { readUsd } from '../../core/api/request-fields.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { KeyLimits } from '../../operators/key-management.ts'
import { readExpiry } from '../account/keys/read-key-settings.ts'
import { OfId } from '../page.ts'
import { askingOperator, operatorRoute } from '../plugins/operator-access.ts'
import { keyView, refuseEmpty } from './account-routes.ts'

/** Keys of accounts: revoke, pause, resume and edit. */
export const keyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { keyManagement, hostClock: clock } = app.operators
  app.post(
    '/keys/:id/revoke',
    operatorRoute('accounts.suspend', OperatorKey, { params: OfId }),
    async (request) => {
      const { id, kind } = await keyManagement.find(request.params.id)
      // The permission to suspend accounts must not allow revoking operators' keys.
      if (kind === 'admin')
        throw new ApiError('invalid_request', 'Admin keys are revoked on the page of operators.')
      return keyView(await keyManagement.revoke(askingOperator(request), id))
    },
  )

  for (const verb of ['pause', 'resume'] as const) {
    app.post(
      `/keys/:id/${verb}`,
      operatorRoute('accounts.suspend', OperatorKey, { params: OfId }),
      async (request) => {
        const key = await keyManagement.find(request.params.id)
        return keyView(await keyManagement[verb](askingOperator(request), key))
      },
    )
  }

  app.post(
    '/keys/:id/limits',
    operatorRoute('accounts.write', OperatorKey, { params: OfId, body: KeyLimitsRequest }),
    async (request) => {
      const key = await keyManagement.find(request.params.id)
      const limits = readLimits(request.body, clock())
      return keyView(await keyManagement.setLimits(askingOperator(request), key, limits))
    },
  )
}

function readLimits(body: KeyLimitsRequest, nowMs: number): KeyLimits {
  refuseEmpty(body, KeyLimitsRequest)
  const { limit_usd: limit, limit_reset: reset, name, expires_at: expiresAt } = body
  const { operator_requests_per_minute: requestsPerMinute, operator_concurrent_calls: concurrentCalls } = body
  return {
    ...(name !== undefined && { name: name.trim() }),
    ...(expiresAt !== undefined && { expiresAt: readExpiry(expiresAt, nowMs) }),
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(concurrentCalls !== undefined && { concurrentCalls }),
    ...(limit !== undefined && { limitPico: readUsd(limit) }),
    ...(reset !== undefined && { limitReset: reset ?? 'none' }),
  }
}
