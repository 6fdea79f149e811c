import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { KeyRecord } from '../accounts/key-cache.ts'
import type { KeyScope } from '../core/accounts/key-scope.ts'
import type { Permission } from '../core/accounts/member-permissions.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { CallReader } from './call-view.ts'
import { askingKey, standardKey } from './plugins/authenticate.ts'
import { actingOn } from './plugins/session.ts'

/** Who asks for something of an account. */
export interface Asker {
  accountId: string
  /** What bounds count the request under: a key, or the account of a session. */
  holder: string
  /** As whom calls are read. */
  reader: CallReader
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** An onSend hook: what was read of an account is kept nowhere. */
export const noStore: Hook = async (_request, reply) => {
  if (reply.statusCode < 400) reply.header('cache-control', 'no-store')
}

/** How the routes of an account's resource authenticate. They differ by this and by their JSON. */
export interface AccountAccess {
  /** `onRequest`: 401 and 403, before a body is read. */
  hooks: { onRequest: Hook[]; preValidation?: Hook; onSend?: Hook }
  /** Of the operations, what they need beside a key. */
  schema?: { description: string }
  /** The asker of a request that the hooks let through. */
  asker(request: FastifyRequest): Asker
  /** What a holder is called in messages about its bounds. */
  holder: 'key' | 'account'
}

/** For a key of the account with this scope. `refusal` is the message of the 403 for admin keys, which have none. */
export const byKey = (app: FastifyInstance, scope: KeyScope, refusal: string): AccountAccess => ({
  hooks: {
    onRequest: [app.requireKey, async (request) => void standardKey(request, refusal), requireScope(scope)],
    onSend: noStore,
  },
  schema: { description: `Needs an API key with the scope \`${scope}\`, which is off by default.` },
  asker: (request) => {
    const { accountId, keyId } = standardKey(request, refusal)
    return { accountId, holder: keyId, reader: 'owner' }
  },
  holder: 'key',
})

/** For a key that reads its account, and for admin keys, which name one by `account_id`. */
export const byReadingKey = (app: FastifyInstance): AccountAccess => ({
  hooks: { onRequest: [app.requireKey, refuseOtherAccount], onSend: noStore },
  asker: (request) => {
    const key = askingKey(request)
    const accountId = accountToRead(key, request.query as { account_id?: string })
    return { accountId, holder: key.keyId, reader: callReader(key) }
  },
  holder: 'key',
})

/** For who is signed in and permitted to do this on the account they act on. */
export const bySession = (app: FastifyInstance, permission: Permission): AccountAccess => ({
  hooks: { onRequest: [app.requirePermission(permission)] },
  asker: (request) => {
    const { id } = actingOn(request).account
    return { accountId: id, holder: id, reader: 'owner' }
  },
  holder: 'account',
})

/** As whom a key reads calls. */
export const callReader = (key: KeyRecord): CallReader => (key.kind === 'admin' ? 'operator' : 'owner')

/** The parameter by which an admin key names an account. */
export const ACCOUNT_ID = { account_id: Type.Optional(Type.String()) }

/** 403 for a key that names another account than its own. */
async function refuseOtherAccount(request: FastifyRequest): Promise<void> {
  const { accountId } = askingKey(request)
  const { account_id: named } = request.query as Record<string, unknown>
  if (accountId !== null && typeof named === 'string' && named !== '' && named !== accountId)
    throw new ApiError('not_permitted', 'This key reads its own account only.')
}

/** The account a key reads: its own; for an admin key the one it names. Throws ApiError where it names none. */
function accountToRead(key: KeyRecord, query: { account_id?: string }): string {
  const accountId = key.accountId ?? query.account_id
  if (accountId !== undefined) return accountId
  throw new ApiError('invalid_request', 'An admin key belongs to no account. Name one: `account_id`.', {
    param: 'account_id',
  })
}

/** What a scope permits, in messages. */
const PURPOSES: Record<KeyScope, string> = {
  provider_keys: 'manage provider keys',
  top_ups: 'open or read top-ups',
}

/** An onRequest hook after `requireKey`: 403 for a key without the scope. */
const requireScope = (scope: KeyScope) => async (request: FastifyRequest) => {
  if (askingKey(request).scopes.includes(scope)) return
  throw new ApiError(
    'not_permitted',
    `This API key may not ${PURPOSES[scope]}: it does not have the scope \`${scope}\`. ` +
      'An owner or admin turns it on in the console, under API keys → Edit → Permissions; the key must be of an owner or admin.',
  )
}
