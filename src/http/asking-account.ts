import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { KeyRecord } from '../accounts/key-cache.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { CallReader } from './call-view.ts'

/** The key of a request that `requireKey` let through. */
export function askingKey({ key }: FastifyRequest): KeyRecord {
  if (key === null) throw new Error('this route does not ask for a key')
  return key
}

/** As whom a key reads calls. */
export const callReader = (key: KeyRecord): CallReader => (key.kind === 'admin' ? 'operator' : 'owner')

/** The parameter by which an admin key names an account. */
export const ACCOUNT_ID = { account_id: Type.Optional(Type.String()) }

/** A preValidation hook: 403 for a key that names another account than its own. */
export async function refuseOtherAccount(request: FastifyRequest): Promise<void> {
  const { accountId } = askingKey(request)
  const { account_id: named } = request.query as Record<string, unknown>
  if (accountId !== null && typeof named === 'string' && named !== '' && named !== accountId)
    throw new ApiError('not_permitted', 'This key reads the books of its own account only.')
}

/** The account a key reads: its own; for an admin key the one it names. Throws ApiError where it names none. */
export function accountToRead(key: KeyRecord, query: { account_id?: string }): string {
  const accountId = key.accountId ?? query.account_id
  if (accountId !== undefined) return accountId
  throw new ApiError('invalid_request', 'An admin key belongs to no account. Name one: `account_id`.', {
    param: 'account_id',
  })
}
