import Fastify from 'fastify'
import { beforeAll, describe, expect, test } from 'vitest'
import { OPERATOR_ROLES, type OperatorRole } from '../../../src/core/accounts/operator-permissions.ts'
import { needs, statePermissions } from '../../../src/http/plugins/operator-access.ts'
import { testStack } from '../../helpers/resources.ts'
import { type RegisteredRoute, registeredRoutes } from '../../hostile/registered-routes.ts'
import { expectError } from '../wire.ts'

const NOT_VIEWERS = ['admin', 'billing', 'support']
const MONEY = ['admin', 'billing']
const OPERATIONS = ['admin', 'support']
const ADMIN = ['admin']

/** Who may use each route that changes something; whoever operates may read. A new route is added here. */
const CHANGES: Record<string, readonly string[]> = {
  'POST /admin/api/accounts': MONEY,
  'POST /admin/api/accounts/:id/invite': MONEY,
  'POST /admin/api/accounts/:id/keys': MONEY,
  'POST /admin/api/accounts/:id/suspend': NOT_VIEWERS,
  'POST /admin/api/accounts/:id/resume': NOT_VIEWERS,
  'POST /admin/api/accounts/:id/limits': MONEY,
  'POST /admin/api/accounts/:id/credit': MONEY,
  'POST /admin/api/accounts/:id/adjust': MONEY,
  'POST /admin/api/accounts/:id/top-ups/:topUpId/refund': MONEY,
  'POST /admin/api/keys/:id/revoke': NOT_VIEWERS,
  'POST /admin/api/keys/:id/pause': NOT_VIEWERS,
  'POST /admin/api/keys/:id/resume': NOT_VIEWERS,
  'POST /admin/api/keys/:id/limits': MONEY,
  'POST /admin/api/surfaces/:id/open': MONEY,
  'POST /admin/api/surfaces/:id/close': MONEY,
  'POST /admin/api/audit/run': NOT_VIEWERS,
  'POST /admin/api/alarms/:id/acknowledge': OPERATIONS,
  'POST /admin/api/alarm-destinations': ADMIN,
  'PATCH /admin/api/alarm-destinations/:id': ADMIN,
  'DELETE /admin/api/alarm-destinations/:id': ADMIN,
  'POST /admin/api/alarm-destinations/:id/test': ADMIN,
  'PATCH /admin/api/settings': ADMIN,
  'POST /admin/api/offers/:id/enable': OPERATIONS,
  'POST /admin/api/providers/:id/enable': OPERATIONS,
  'POST /admin/api/providers/:id/key': ADMIN,
  'POST /admin/api/providers/:id/key/remove': ADMIN,
  'POST /admin/api/providers/:id/keys': ADMIN,
  'PATCH /admin/api/providers/:id/keys/:key': ADMIN,
  'POST /admin/api/providers/:id/keys/:key/remove': ADMIN,
  'POST /admin/api/operators': ADMIN,
  'POST /admin/api/operators/:id/role': ADMIN,
  'POST /admin/api/operators/:id/disable': ADMIN,
  'POST /admin/api/operators/:id/enable': ADMIN,
  'POST /admin/api/operators/:id/keys': ADMIN,
  'POST /admin/api/admin-keys/:id/revoke': ADMIN,
  'POST /admin/api/catalog/check': ADMIN,
  'POST /admin/api/catalog/edits': ADMIN,
  'POST /admin/api/catalog/revert': ADMIN,
}

/** The routes to sign in and out by. */
const OPEN = /^\/admin\/api\/(session|visitor|sso|sso\/callback)$/
const isRead = ({ method }: RegisteredRoute) => method === 'GET' || method === 'HEAD'
/** Bull Board's own routes that change queues: read-only for everyone, so 405 for whoever may see it. */
const isBoard = ({ path }: RegisteredRoute) => path.startsWith('/admin/queues')

let routes: RegisteredRoute[]
const keys = {} as Record<OperatorRole, string>

const stack = testStack()
beforeAll(async () => {
  routes = (await registeredRoutes(stack.environment)).filter(
    ({ path }) => /^\/admin\/(api|queues)/.test(path) && !OPEN.test(path),
  )
  for (const role of OPERATOR_ROLES) keys[role] = await stack.adminKey(role)
})

/** Asks for a route with ids that nothing has, and leaves what streams. */
async function statusOf({ method, path }: RegisteredRoute, key: string): Promise<Response> {
  const url = stack.url + path.replace(/:\w+/g, 'nothing').replace('*', 'nothing')
  const stopped = new AbortController()
  const response = await fetch(url, {
    method,
    signal: stopped.signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(!isRead({ method, path }) && { body: '{"unexpected":true}' }),
  })
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) stopped.abort()
  return response
}

describe.each(OPERATOR_ROLES)('the role %s', (role) => {
  test('reaches the routes that it includes, and no other', async () => {
    const refused: string[] = []
    for (const route of routes) {
      const response = await statusOf(route, keys[role])
      if (response.status === 403) {
        if (route.method !== 'HEAD') await expectError(response, 403, 'not_permitted')
        refused.push(`${route.method} ${route.path}`)
      } else expect(response.status, `${route.method} ${route.path}`).not.toBe(401)
    }
    const lacking = Object.keys(CHANGES).filter((name) => !CHANGES[name]!.includes(role))
    expect(refused.sort()).toEqual(lacking.sort())
  })
})

test('every route that changes something is in the table, and no other', () => {
  const changing = routes.filter((route) => !isRead(route) && !isBoard(route))
  expect(changing.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(CHANGES).sort())
})

test('a route that states no permission keeps the server from starting', () => {
  const scope = Fastify()
  statePermissions(scope)
  scope.get('/stated', needs('read'), async () => ({}))
  expect(() => scope.get('/unstated', async () => ({}))).toThrow('GET /unstated states no permission')
})

test('a refusal names the role and those that it takes', async () => {
  const response = await statusOf({ method: 'POST', path: '/admin/api/accounts/x/credit' }, keys.support)
  const { message } = await expectError(response, 403, 'not_permitted')
  expect(message).toBe('Your role, support, does not permit this. It requires the role admin or billing.')
})
