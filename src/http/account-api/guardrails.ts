import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import {
  GuardrailBody,
  GuardrailDeleted,
  GuardrailList,
  GuardrailQuery,
  GuardrailSet,
  GuardrailTestBody,
  GuardrailTested,
  GuardrailView,
} from '../../core/api/guardrails.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { GUARD_POINTS } from '../../core/guardrails/guardrail.ts'
import {
  type GuardrailChange,
  noSuchGuardrail,
  type StoredGuardrail,
} from '../../guardrails/guardrail-store.ts'
import { byKey, bySession, type EditorAccess } from './account-access.ts'

/** GET, POST and DELETE /v2/guardrails, and POST /v2/guardrails/test: what judges the prompts and answers of an account. */
export const guardrailsRoute = (path: string): FastifyPluginAsyncTypebox =>
  guardrailRoutes(path, (app) =>
    byKey(app, 'guardrails', 'Admin keys belong to no account. Use a standard key.'),
  )

/** The same under /console/api, for the session's account. */
export const consoleGuardrailRoutes: FastifyPluginAsyncTypebox = guardrailRoutes('/guardrails', (app) =>
  bySession(app, 'view_integrations', 'integrations'),
)

function guardrailRoutes(
  path: string,
  accessOf: (app: FastifyInstance) => EditorAccess,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    const { guardrails, throttleAccount } = app.accounts
    const { requester, hooks, changing, schema, record } = accessOf(app)

    const listing = { ...schema, summary: 'Guardrails of the account', response: { 200: GuardrailList } }
    app.get(path, { ...hooks, schema: listing }, async (request) => {
      const found = await guardrails.list(requester(request).accountId)
      return { object: 'list' as const, data: found.map(guardrailView) }
    })

    const setting = {
      ...schema,
      summary: 'Create or change a guardrail',
      body: GuardrailBody,
      response: { 200: GuardrailSet },
    }
    app.post(path, { ...changing, schema: setting }, async (request) => {
      const { accountId } = requester(request)
      const change = readChange(request.body)
      const { keyId, kind, url, mayReplace, timeoutMs, onFailure } = change
      await throttleAccount('key-edit', accountId)
      const secret = await guardrails.set(accountId, change)
      const points = change.points.join(', ')
      const how = { points, may_replace: mayReplace, timeout_ms: timeoutMs, on_failure: onFailure }
      await record(request, 'guardrail.set', keyId ?? accountId, { key_id: keyId, kind, url, ...how })
      const set = (await guardrails.list(accountId)).find((each) => each.keyId === keyId)
      if (!set) throw noSuchGuardrail()
      return { guardrail: guardrailView(set), secret }
    })

    const deleting = {
      ...schema,
      summary: 'Delete a guardrail',
      querystring: GuardrailQuery,
      response: { 200: GuardrailDeleted },
    }
    app.delete(path, { ...changing, schema: deleting }, async (request) => {
      const { accountId } = requester(request)
      const { key_id: keyId = null } = request.query
      await throttleAccount('key-edit', accountId)
      await guardrails.remove(accountId, keyId)
      await record(request, 'guardrail.deleted', keyId ?? accountId, { key_id: keyId })
      return { object: 'guardrail' as const, key_id: keyId, deleted: true as const }
    })

    const testing = {
      ...schema,
      summary: 'Ask a guardrail about a text',
      body: GuardrailTestBody,
      response: { 200: GuardrailTested },
    }
    app.post(`${path}/test`, { ...changing, schema: testing }, async (request) => {
      const { accountId } = requester(request)
      const { key_id: keyId = null, point = 'prompt', text } = request.body
      const guardrail = await guardrails.find(accountId, keyId)
      if (!guardrail) throw noSuchGuardrail()
      await throttleAccount('webhook-test', accountId)
      const startedAt = performance.now()
      const guards = await app.calls.guards()
      const tested = await guards.test(guardrail, point, { accountId, id: request.id, text })
      return { ...tested, duration_ms: Math.round(performance.now() - startedAt) }
    })
  }
}

const readChange = ({
  key_id,
  kind,
  url,
  secret,
  points,
  settings,
  ...body
}: GuardrailBody): GuardrailChange => ({
  ...{ keyId: key_id ?? null, kind: kind ?? 'http', url, secret, points: points ?? [...GUARD_POINTS] },
  ...{ mayReplace: body.may_replace ?? false, timeoutMs: body.timeout_ms ?? 2_000 },
  ...{ onFailure: body.on_failure ?? 'deny', settings: settings ?? {} },
})

const guardrailView = (stored: StoredGuardrail): GuardrailView =>
  jsonView(GuardrailView, { ...stored, object: 'guardrail' as const }) as GuardrailView
