import type { FastifyPluginAsync } from 'fastify'
import type { AlarmView, OperatorActionView } from '../../core/api/operations.ts'
import type { OperatorPage } from '../../core/api/shared.ts'
import { type QueryParameters, readChoice, readText, refuseUnknown } from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { StoredAlarm } from '../../operations/alarm-store.ts'
import type { OperatorAction } from '../../operations/operator-action-store.ts'
import { askingKey } from '../asking-account.ts'
import { doDeed } from './deed.ts'
import { idPage, readIdPage } from './id-page.ts'
import type { OperatorServices } from './operator-services.ts'

/** GET /alarms and POST /alarms/:id/acknowledge; GET /actions: what operators did. */
export const alarmRoutes: FastifyPluginAsync<OperatorServices> = async (app, services) => {
  const { alarms, actions, clock } = services

  app.get('/alarms', async (request): Promise<OperatorPage<AlarmView>> => {
    const query = request.query as QueryParameters
    refuseUnknown(query, ['state', 'limit', 'cursor'])
    const page = readIdPage(query)
    const openOnly = readChoice(query, 'state', ['open', 'all'], 'open') === 'open'
    const found = alarms.page({ openOnly, after: page.after, limit: page.limit + 1 })
    return idPage(await found, page, alarmView)
  })

  app.post<{ Params: { id: string } }>('/alarms/:id/acknowledge', async (request): Promise<AlarmView> => {
    const { id } = request.params
    const deed = { action: 'alarm.acknowledge', target: id, details: {} }
    return doDeed(request, deed, services, async () => {
      const found = await alarms.acknowledge(id, askingKey(request).keyId, new Date(clock()))
      if (!found) throw new ApiError('not_found', 'There is no such alarm.')
      return alarmView(found)
    })
  })

  app.get('/actions', async (request): Promise<OperatorPage<OperatorActionView>> => {
    const query = request.query as QueryParameters
    refuseUnknown(query, ['target', 'limit', 'cursor'])
    const page = readIdPage(query)
    const found = actions.page({
      target: readText(query, 'target'),
      after: page.after,
      limit: page.limit + 1,
    })
    return idPage(await found, page, actionView)
  })
}

const alarmView = (alarm: StoredAlarm): AlarmView => ({
  id: alarm.id,
  kind: alarm.kind,
  subject: alarm.subject,
  message: alarm.message,
  first_at: alarm.firstAt.toISOString(),
  last_at: alarm.lastAt.toISOString(),
  count: alarm.count,
  fields: alarm.fields,
  acknowledged_at: alarm.acknowledgedAt?.toISOString() ?? null,
  acknowledged_by: alarm.acknowledgedBy,
})

export const actionView = (action: OperatorAction): OperatorActionView => ({
  id: action.id,
  at: action.at.toISOString(),
  actor: action.actor,
  action: action.action,
  target: action.target,
  outcome: action.outcome === 'failed' ? 'failed' : 'asked',
  details: (action.details ?? {}) as Record<string, unknown>,
  request_id: action.requestId,
})
