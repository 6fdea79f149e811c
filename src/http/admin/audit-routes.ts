import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { AuditRun } from '../../billing/audit/audit-run-store.ts'
import { AUDIT_EVERY_MS } from '../../billing/audit/audit-schedule.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { AuditRunView, AuditView } from '../../core/api/operations.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { Page } from '../../core/api/shared.ts'
import { isRunning as isJobRunning } from '../../platform/redis/fleet-job.ts'
import { AUDIT_ASKED, AUDIT_JOB } from '../../platform/redis/redis-keys.ts'
import { ID_PAGE, idPage } from '../page.ts'
import { askingOperator, needs, operatorRoute } from '../plugins/operator-access.ts'

/** Without a settlement process, a requested audit expires after this. */
const ASKED_SECONDS = 600

/** GET /audit/latest and /audit/runs: results of audits; POST /audit/run?full requests one from the settlement process. */
export const auditRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { audits } = app.billing
  const { auditLog, redis } = app.operators
  const view = async (): Promise<AuditView> => {
    const [isAsked, isRunning, run] = await Promise.all([
      redis.exists(AUDIT_ASKED),
      isJobRunning(redis, AUDIT_JOB),
      audits.latest(),
    ])
    return {
      object: 'audit',
      running: isAsked === 1 || isRunning,
      every_minutes: AUDIT_EVERY_MS / 60_000,
      run: run && runView(run),
    }
  }

  app.get('/audit/latest', operatorRoute('read', AuditView), view)

  app.get(
    '/audit/runs',
    operatorRoute('read', Page(AuditRunView), { querystring: Type.Object(ID_PAGE, CLOSED) }),
    ({ query }) => idPage(query, audits.page, runView),
  )

  app.post(
    '/audit/run',
    {
      ...needs('audits.run'),
      schema: {
        querystring: Type.Object({ full: Type.Enum(['true', 'false', ''], { default: 'false' }) }, CLOSED),
        response: { 202: AuditView },
      },
    },
    async (request, reply) => {
      const reach = request.query.full === 'false' ? 'new' : 'full'
      const action = { action: 'audit.run', target: 'ledger', details: { reach } }
      await auditLog.auditedAction(askingOperator(request), action, () =>
        redis.set(AUDIT_ASKED, reach, 'EX', ASKED_SECONDS),
      )
      return reply.code(202).send({ ...(await view()), running: true })
    },
  )
}

const runView = (run: AuditRun): AuditRunView =>
  jsonView(AuditRunView, {
    ...run,
    cause: run.cause === 'operator' ? ('operator' as const) : ('schedule' as const),
  })
