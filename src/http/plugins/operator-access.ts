import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import plugin from 'fastify-plugin'
import type { TSchema } from 'typebox'
import type { KeyCache, KeyRecord } from '../../accounts/key-cache.ts'
import {
  isPermitted,
  type OperatorPermission,
  type OperatorRole,
  PERMISSIONS,
} from '../../core/accounts/operator-permissions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { Operator } from '../../operators/audit-log.ts'
import { requireSameOrigin } from '../same-origin.ts'
import { authenticated, bearerToken } from './authenticate.ts'

/** An operator whose request was accepted. */
export interface SignedInOperator {
  id: string
  name: string
  role: OperatorRole
  /** The admin key of the request or its session; null after single sign-on. */
  key: KeyRecord | null
}

export interface OperatorAccessOptions {
  keys: Pick<KeyCache, 'lookup'>
  /** The operator who signed in with a browser; otherwise null. Throws ApiError. */
  readOperatorSession: (request: FastifyRequest) => Promise<SignedInOperator | null>
  publicUrl: string | null
  /** Browsers are not asked for an admin key. */
  operatorSsoOnly: boolean
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The permission that an operator route requires. */
    permission?: OperatorPermission
  }
  interface FastifyRequest {
    /** Set by `requireOperator`. */
    operator: SignedInOperator | null
  }
  interface FastifyInstance {
    /**
     * An onRequest hook: 401 unless the request is an operator's, by an admin key as bearer token or as the password of
     * HTTP Basic, or by a session; 403 unless the operator's role has the permission that the route declares.
     */
    requireOperator(request: FastifyRequest): Promise<void>
  }
}

/**
 * A browser shows a password prompt when it sees Basic. Background requests of our own pages get no Basic challenge:
 * the pages redirect to the sign-in page.
 */
const adminChallenge = ({ headers }: FastifyRequest): string =>
  headers['sec-fetch-site'] === 'same-origin' ? 'Bearer' : 'Basic realm="Shuntyard admin", Bearer'

/** The only place that authenticates operators and enforces their roles. */
export const operatorAccess = plugin<OperatorAccessOptions>(
  async (app, { keys, readOperatorSession, publicUrl, operatorSsoOnly }) => {
    const challengeOf = operatorSsoOnly ? () => 'Bearer' : adminChallenge
    app.decorateRequest('operator', null)
    app.decorate('requireOperator', async (request: FastifyRequest) => {
      const { authorization } = request.headers
      const password = operatorSsoOnly ? null : basicPassword(authorization)
      // A browser that knows the password sends it for any site's page; programs send no origin.
      if (password !== null && isFromBrowser(request)) requireSameOrigin(request, publicUrl)
      const secret = password ?? bearerToken(authorization)
      const operator =
        (authorization === undefined ? await readOperatorSession(request) : null) ??
        operatorOf(await authenticated(keys, secret, request.ip, challengeOf(request)))
      request.operator = operator
      request.key = operator.key
      requirePermission(operator, request.routeOptions.config.permission)
    })
  },
  { name: 'operator-access', dependencies: ['authenticate'] },
)

/** The permission that an operator route requires, for its options. */
export const needs = (permission: OperatorPermission) => ({ config: { permission } })

/** The options of an operator route: the permission that it requires, what its 200 returns, and the schemas of its request. */
export const operatorRoute = <Returned extends TSchema, Request extends FastifySchema = object>(
  permission: OperatorPermission,
  returned: Returned,
  request?: Request,
) => ({
  ...needs(permission),
  schema: { ...request, response: { 200: returned } } as RouteSchema<Request, Returned>,
})

type RouteSchema<Request, Returned> = Request & { response: { 200: Returned } }

/** Fails the start of the server if a route of this scope declares no permission. */
export function statePermissions(scope: FastifyInstance): void {
  scope.addHook('onRoute', ({ method, url, config }) => {
    if (config?.permission === undefined) throw new Error(`${method} ${url} states no permission`)
  })
}

/** The operator of an admin key. Throws ApiError 403 for a key of an account. */
export function operatorOf(key: KeyRecord): SignedInOperator {
  if (key.operator === null) throw new ApiError('not_permitted', 'This requires an admin key.')
  return { ...key.operator, key }
}

/** The operator of a request that `requireOperator` accepted. */
export function signedInOperator({ operator }: FastifyRequest): SignedInOperator {
  if (operator === null) throw new Error('this route is not for operators')
  return operator
}

function requirePermission({ role }: SignedInOperator, permission: OperatorPermission | undefined): void {
  if (permission === undefined) throw new Error('this route states no permission')
  if (isPermitted(role, permission)) return
  throw new ApiError(
    'not_permitted',
    `Your role, ${role}, does not permit this. It requires the role ${PERMISSIONS[permission].join(' or ')}.`,
  )
}

const isFromBrowser = ({ headers }: FastifyRequest): boolean =>
  headers['sec-fetch-site'] !== undefined || headers.origin !== undefined

function basicPassword(header: string | undefined): string | null {
  const match = /^basic +(\S+) *$/i.exec(header ?? '')
  if (!match?.[1]) return null
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(match[1], 'base64').toString('utf8')) ?? []
  return password ?? null
}

/** The operator of a request that `requireOperator` accepted, as named in the audit log. */
export function askingOperator(request: FastifyRequest): Operator {
  const { id, key } = signedInOperator(request)
  return { actor: key?.keyId ?? id, requestId: request.id }
}
