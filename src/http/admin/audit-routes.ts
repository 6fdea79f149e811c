import type { FastifyPluginAsync } from 'fastify'
import type { AuditRun } from '../../billing/audit/audit-run-store.ts'
import type { AuditRunView, AuditView } from '../../core/api/operations.ts'
import type { OperatorPage } from '../../core/api/shared.ts'
import { type QueryParameters, refuseUnknown } from '../../core/billing/usage-query.ts'
import { isRunning as isJobRunning } from '../../platform/redis/fleet-job.ts'
import { AUDIT_ASKED, AUDIT_JOB } from '../../platform/redis/redis-keys.ts'
import { doDeed } from './deed.ts'
import { idPage, readIdPage } from './id-page.ts'
import type { OperatorServices } from './operator-services.ts'

/** Where no settlement process lives, what was asked for is forgotten after this. */
const ASKED_SECONDS = 600

/** GET /audit/latest and /audit/runs: what audits found; POST /audit/run asks the settlement process for one. */
export const auditRoutes: FastifyPluginAsync<OperatorServices> = async (app, services) => {
  const { audits, auditEveryMinutes, redis } = services

  const view = async (): Promise<AuditView> => {
    const [isAsked, isRunning, run] = await Promise.all([
      redis.exists(AUDIT_ASKED),
      isJobRunning(redis, AUDIT_JOB),
      audits.latest(),
    ])
    return {
      object: 'audit',
      running: isAsked === 1 || isRunning,
      every_minutes: auditEveryMinutes,
      run: run && runView(run),
    }
  }

  app.get('/audit/latest', view)

  app.get('/audit/runs', async (request): Promise<OperatorPage<AuditRunView>> => {
    const query = request.query as QueryParameters
    refuseUnknown(query, ['limit', 'cursor'])
    const page = readIdPage(query)
    const runs = audits.page({ after: page.after, limit: page.limit + 1 })
    return idPage(await runs, page, runView)
  })

  app.post('/audit/run', async (request, reply): Promise<AuditView> => {
    await doDeed(request, { action: 'audit.run', target: 'books', details: {} }, services, () =>
      redis.set(AUDIT_ASKED, request.id, 'EX', ASKED_SECONDS),
    )
    reply.code(202)
    return { ...(await view()), running: true }
  })
}

const runView = ({ id, at, durationMs, ok, cause, ...found }: AuditRun): AuditRunView => ({
  id,
  at: at.toISOString(),
  duration_ms: durationMs,
  ok,
  cause: cause === 'operator' ? 'operator' : 'schedule',
  figures: found.figures,
  checks: found.checks,
  discrepancies: found.discrepancies,
})
