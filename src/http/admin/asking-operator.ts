import type { FastifyRequest } from 'fastify'
import type { Operator } from '../../operations/audit-log.ts'
import { signedInOperator } from '../plugins/operator-access.ts'

/** The operator of a request that `requireOperator` let through, as the audit log names them. */
export function askingOperator(request: FastifyRequest): Operator {
  const { id, key } = signedInOperator(request)
  return { actor: key?.keyId ?? id, requestId: request.id }
}
