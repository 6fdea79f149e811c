import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { lookUpKey } from '../../../accounts/key-cache.ts'
import { OPERATOR_SESSION_MS } from '../../../accounts/session-store.ts'
import { PERMISSIONS } from '../../../core/accounts/operator-permissions.ts'
import { OperatorSession, OperatorSignInBody, OperatorVisitor } from '../../../core/api/sessions.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import { isoTime } from '../../../core/kernel/time.ts'
import { liveKey } from '../../plugins/authenticate.ts'
import { operatorOf, type SignedInOperator } from '../../plugins/operator-access.ts'
import { notSignedIn } from '../../plugins/session.ts'
import { fromOwnPages, requireSameOrigin } from '../../same-origin.ts'
import { clientOf } from './session-replies.ts'

const PATH = '/admin/api/session'
const VISITOR_PATH = '/admin/api/visitor'

/**
 * Reads an operator's session. It looks up the admin key and the operator each time, so that a revoked key or a
 * disabled operator ends it at once. Null for a request without one. Throws ApiError for a change requested by another
 * site's page.
 */
export function operatorSessionReader(app: Pick<FastifyInstance, 'accounts' | 'operators'>) {
  const { sessions, cookies, keys, publicUrl, clock } = app.accounts
  const { operators, ssoOnly } = app.operators
  return async (request: FastifyRequest): Promise<SignedInOperator | null> => {
    const token = cookies.read(request, 'operator')
    if (token === null) return null
    requireSameOrigin(request, publicUrl)
    const session = await sessions.find(token)
    if (session?.operatorId != null) {
      const operator = await operators.find(session.operatorId)
      if (operator?.state !== 'active') return null
      const { id, name, role } = operator
      return { id, name, role, key: null }
    }
    if (session?.keyId == null || ssoOnly) return null
    const found = await lookUpKey(keys, session.keyId, clock())
    return found.kind === 'active' ? operatorOf(found.key) : null
  }
}

/** POST, GET and DELETE /admin/api/session: an operator signs in with an admin key and receives a cookie. */
export const operatorSessionRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { cookies, sessions, keys, keyCache, throttle } = app.accounts
  const ours = fromOwnPages(app.accounts.publicUrl)
  const readOperator = operatorSessionReader(app)

  const viewOf = async (operator: SignedInOperator, expiresAt: Date): Promise<OperatorSession> => {
    const key = operator.key && (await keys.find(operator.key.keyId))
    return {
      operator_id: operator.id,
      operator_name: operator.name,
      role: operator.role,
      permissions: PERMISSIONS,
      key_id: key?.id ?? null,
      hint: key && `${key.prefix}…${key.suffix}`,
      expires_at: isoTime(expiresAt),
    }
  }

  const signingIn = { ...ours, schema: { body: OperatorSignInBody, response: { 201: OperatorSession } } }
  app.post(PATH, signingIn, async (request, reply) => {
    if (app.operators.ssoOnly)
      throw new ApiError('not_permitted', 'Operators of this gateway sign in with single sign-on.')
    const secret = request.body.admin_key.trim()
    // Keys cannot be guessed, but each attempt costs a PostgreSQL statement.
    await throttle.operator(request.ip)
    const found = await keyCache.lookup(secret, request.ip)
    if (found.kind === 'unknown')
      throw new ApiError('invalid_credentials', 'This admin key does not exist. Check it for typos.', {
        challenge: 'Session',
      })
    const key = liveKey(found)
    if (key.kind !== 'admin')
      throw new ApiError('not_permitted', 'This is an ordinary API key. Sign in with an admin key.')
    const begun = await sessions.create({ keyId: key.keyId }, OPERATOR_SESSION_MS, clientOf(request))
    if (begun === null) throw notSignedIn()
    const { token, session } = begun
    cookies.write(reply, 'operator', token, session.expiresAt)
    return reply.code(201).send(await viewOf(operatorOf(key), session.expiresAt))
  })

  const find = async (request: FastifyRequest): Promise<OperatorSession | null> => {
    const token = cookies.read(request, 'operator')
    const session = token === null ? null : await sessions.find(token)
    const operator = session && (await readOperator(request))
    return session && operator ? viewOf(operator, session.expiresAt) : null
  }

  app.get(PATH, { schema: { response: { 200: OperatorSession } } }, async (request) => {
    const session = await find(request)
    if (!session) throw notSignedIn()
    return session
  })

  // Pages request this first; a 401 would appear as an error in the browser's console.
  app.get(VISITOR_PATH, { schema: { response: { 200: OperatorVisitor } } }, async (request) => ({
    session: await find(request),
    single_sign_on: app.operators.operatorSignIn?.name ?? null,
    admin_keys: !app.operators.ssoOnly,
  }))

  app.delete(PATH, ours, async (request, reply) => {
    const token = cookies.read(request, 'operator')
    const session = token === null ? null : await sessions.find(token)
    if (session) await sessions.end(session.id)
    cookies.clear(reply, 'operator')
    return reply.code(204).send()
  })
}
