import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { StoredKey } from '../../accounts/key-store.ts'
import type { StoredOperator } from '../../accounts/operators/operator-store.ts'
import { jsonView } from '../../core/api/json-view.ts'
import {
  AdminKeyView,
  CreatedAdminKey,
  NewAdminKeyBody,
  NewOperatorBody,
  OperatorDetail,
  OperatorRoleBody,
  OperatorView,
} from '../../core/api/operators.ts'
import { List } from '../../core/api/shared.ts'
import { normalizeEmail } from '../../core/kernel/email-address.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import { OfId } from '../page.ts'
import { askingOperator, needs, operatorRoute } from '../plugins/operator-access.ts'

/** Operators and their admin keys: list, add, change the role, disable and enable. */
export const operatorRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { operatorManagement, hostClock: clock } = app.operators
  app.get('/operators', operatorRoute('read', List(OperatorDetail)), async () => {
    const [operators, keys] = await Promise.all([operatorManagement.list(), operatorManagement.listKeys()])
    const data = operators.map((operator) => ({
      ...operatorView(operator),
      single_sign_on: operator.oidcSubject !== null,
      keys: keys.filter(({ operatorId }) => operatorId === operator.id).map(adminKeyView),
    }))
    return { object: 'list' as const, data }
  })

  app.post(
    '/operators',
    { ...needs('operators.write'), schema: { body: NewOperatorBody, response: { 201: OperatorView } } },
    async (request, reply) => {
      const { name, email, role } = request.body
      const added = await operatorManagement.add(askingOperator(request), {
        name: name.trim(),
        email: email ? normalizeEmail(email) : null,
        role,
      })
      return reply.code(201).send(operatorView(added))
    },
  )

  app.post(
    '/operators/:id/role',
    operatorRoute('operators.write', OperatorView, { params: OfId, body: OperatorRoleBody }),
    async (request) => {
      const { id } = request.params
      return operatorView(await operatorManagement.setRole(askingOperator(request), id, request.body.role))
    },
  )

  for (const verb of ['disable', 'enable'] as const) {
    app.post(
      `/operators/:id/${verb}`,
      operatorRoute('operators.write', OperatorView, { params: OfId }),
      async (request) =>
        operatorView(await operatorManagement[verb](askingOperator(request), request.params.id)),
    )
  }

  app.post(
    '/operators/:id/keys',
    {
      ...needs('operators.write'),
      schema: { params: OfId, body: NewAdminKeyBody, response: { 201: CreatedAdminKey } },
    },
    async (request, reply) => {
      const { name, expires_in_days: days } = request.body
      const expiresAt = days == null ? null : new Date(clock() + days * DAY_MS)
      const { key, secret } = await operatorManagement.createKey(askingOperator(request), request.params.id, {
        name: name.trim(),
        expiresAt,
      })
      return reply.code(201).send({ secret, key: adminKeyView(key) })
    },
  )

  app.post(
    '/admin-keys/:id/revoke',
    operatorRoute('operators.write', AdminKeyView, { params: OfId }),
    async (request) =>
      adminKeyView(await operatorManagement.revokeKey(askingOperator(request), request.params.id)),
  )
}

const adminKeyView = (key: StoredKey): AdminKeyView =>
  jsonView(AdminKeyView, { ...key, hint: `${key.prefix}…${key.suffix}` })

export const operatorView = (operator: StoredOperator): OperatorView => jsonView(OperatorView, operator)
