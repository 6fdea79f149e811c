import type { FastifyRequest } from 'fastify'
import type { KeyRecord } from '../accounts/key-cache.ts'
import { type QueryParameters, readText } from '../core/billing/usage-query.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { CallReader } from './call-view.ts'

/** The key of a request that `requireKey` let through. */
export function askingKey({ key }: FastifyRequest): KeyRecord {
  if (key === null) throw new Error('this route does not ask for a key')
  return key
}

/** As whom a key reads calls. */
export const callReader = (key: KeyRecord): CallReader => (key.kind === 'admin' ? 'operator' : 'owner')

/**
 * The account whose books are asked for: a key's own; admin keys name one by `account_id`. Throws ApiError
 * `not_permitted` for another account's, `invalid_request` where an admin key names none.
 */
export function askingAccount(key: KeyRecord, query: QueryParameters): string {
  const named = readText(query, 'account_id')
  if (key.accountId === null) {
    if (named !== null) return named
    throw new ApiError('invalid_request', 'An admin key belongs to no account. Name one: `account_id`.', {
      param: 'account_id',
    })
  }
  if (named !== null && named !== key.accountId)
    throw new ApiError('not_permitted', 'This key reads the books of its own account only.')
  return key.accountId
}
