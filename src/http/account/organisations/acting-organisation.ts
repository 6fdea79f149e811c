import type { FastifyRequest } from 'fastify'
import type { Account } from '../../../accounts/account-store.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import { actingOn } from '../../plugins/session.ts'

/** The session's organisation. Throws ApiError 404 for a personal account, which has no members. */
export function organisationOf(request: FastifyRequest): Account & { name: string } {
  const { account } = actingOn(request)
  const { name } = account
  if (name === null) throw new ApiError('not_found', 'This is a personal account. Choose an organisation.')
  return { ...account, name }
}
