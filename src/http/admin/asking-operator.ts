import type { FastifyRequest } from 'fastify'
import type { Operator } from '../../operations/audit-log.ts'
import { askingKey } from '../plugins/authenticate.ts'

/** The operator of a request that `requireAdminKey` let through. */
export const askingOperator = (request: FastifyRequest): Operator => ({
  actor: askingKey(request).keyId,
  requestId: request.id,
})
