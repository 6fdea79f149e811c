import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { KeyRecord } from '../../accounts/key-cache.ts'
import type { AccountActionName, ActionDetails } from '../../core/accounts/account-action.ts'
import type { KeyScope } from '../../core/accounts/key-scope.ts'
import type { Permission } from '../../core/accounts/member-permissions.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { askingKey, standardKey } from '../plugins/authenticate.ts'
import { actingOn } from '../plugins/session.ts'
import { reportSlots, type Slots } from '../slots.ts'
import type { CallReader } from './call-view.ts'
import { createRecordKeyAction } from './record-key-action.ts'

export interface Requester {
  accountId: string
  /** The owner that limits count the request for: the account, or an admin key, which has none. */
  holder: string
  /** The reader that views of calls are made for. */
  reader: CallReader
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** An onSend hook that forbids caching of an account's data. */
export const noStore: Hook = async (_request, reply) => {
  if (reply.statusCode < 400) reply.header('cache-control', 'no-store')
}

/** `onRequest`: 401 and 403, before a body is read. */
interface AccessHooks {
  onRequest: Hook[]
  onSend?: Hook
}

/** Who may use an account resource's routes. The routes of API keys and of sessions differ in this. */
export interface AccountAccess {
  hooks: AccessHooks
  /** The operations' requirements besides a key. */
  schema?: { description: string }
  /** The requester of a request that the hooks accepted. */
  requester(request: FastifyRequest): Requester
}

/** Access to reports. */
export interface ReportAccess extends AccountAccess {
  slots: Slots
  /** The parameters by which the account is named. */
  query: Partial<typeof ACCOUNT_ID>
}

/** Access to what can be changed. */
export interface EditorAccess extends AccountAccess {
  /** The hooks of routes that change something. */
  changing: AccessHooks
  /** The person or key that made a request. */
  author(request: FastifyRequest): string
  /** Records a change that a request made. */
  record(
    request: FastifyRequest,
    action: AccountActionName,
    target: string,
    details: ActionDetails,
  ): Promise<void>
}

/** Access with a key of the account with this scope. `refusal` is the message of the 403 for admin keys, which have none. */
export function byKey(app: FastifyInstance, scope: KeyScope, refusal: string): EditorAccess {
  const hooks = {
    onRequest: [
      app.requireKey,
      async (request: FastifyRequest) => void standardKey(request, refusal),
      requireScope(scope),
    ],
    onSend: noStore,
  }
  return {
    hooks,
    changing: hooks,
    schema: { description: `Needs an API key with the scope \`${scope}\`, which is off by default.` },
    requester: (request) => {
      const { accountId } = standardKey(request, refusal)
      return { accountId, holder: accountId, reader: 'owner' }
    },
    author: (request) => askingKey(request).keyId,
    record: createRecordKeyAction(app.accounts),
  }
}

/** Access with a key of the account, and with admin keys, which name one by `account_id`. */
export const byReadingKey = (app: FastifyInstance): ReportAccess => ({
  hooks: { onRequest: [app.requireKey, refuseOtherAccount], onSend: noStore },
  slots: reportSlots(),
  query: ACCOUNT_ID,
  requester: (request) => {
    const key = askingKey(request)
    const accountId = accountToRead(key, request.query as { account_id?: string })
    return { accountId, holder: key.accountId ?? key.keyId, reader: callReader(key) }
  },
})

/**
 * Access for a signed-in person with this permission on the session's account, and `changing` for changes. The private
 * API returns the public JSON, with further fields where a page needs them.
 */
export const bySession = (
  app: FastifyInstance,
  permission: Permission,
  changing: Permission = permission,
): EditorAccess & ReportAccess => ({
  hooks: { onRequest: [app.requirePermission(permission)] },
  changing: { onRequest: [app.requirePermission(changing)] },
  slots: app.billing.consoleSlots,
  query: {},
  requester: (request) => {
    const { id } = actingOn(request).account
    return { accountId: id, holder: id, reader: 'owner' }
  },
  author: (request) => actingOn(request).person.id,
  record: (request, action, target, details) => app.recordAction(request, action, target, details),
})

export const callReader = (key: KeyRecord): CallReader => (key.kind === 'admin' ? 'operator' : 'owner')

/** The parameter by which an admin key names an account. */
export const ACCOUNT_ID = { account_id: Type.Optional(Type.String()) }

/** Throws 403 for a key that names another account than its own. */
async function refuseOtherAccount(request: FastifyRequest): Promise<void> {
  const { accountId } = askingKey(request)
  const { account_id: named } = request.query as Record<string, unknown>
  if (accountId !== null && typeof named === 'string' && named !== '' && named !== accountId)
    throw new ApiError('not_permitted', 'This key can read only its own account.')
}

/** The account that a key reads: its own, or the named one for an admin key. Throws ApiError if it names none. */
function accountToRead(key: KeyRecord, query: { account_id?: string }): string {
  const accountId = key.accountId ?? query.account_id
  if (accountId !== undefined) return accountId
  throw invalid('account_id', 'An admin key has no account. Name one in `account_id`.')
}

/** The texts for what each scope permits. */
const PURPOSES: Record<KeyScope, string> = {
  provider_keys: 'manage provider keys',
  top_ups: 'open or read top-ups',
  presets: 'manage presets',
  responses: 'read the responses of other keys',
  budgets: 'read or change budgets',
  guardrails: 'read or change guardrails',
}

/** An onRequest hook after `requireKey`: 403 for a key without the scope. */
const requireScope = (scope: KeyScope) => async (request: FastifyRequest) => {
  if (askingKey(request).scopes.includes(scope)) return
  throw new ApiError(
    'not_permitted',
    `This API key may not ${PURPOSES[scope]}: it does not have the scope \`${scope}\`. ` +
      'An owner or admin can enable it in the console under API keys → Edit → Permissions, for a key created by a member whose role permits it.',
  )
}
