import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import {
  alarmAccount,
  alarmPage,
  alarmSentence,
  runbookPage,
  severityOf,
} from '../../core/alarms/alarm-kinds.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { AlarmCountView, AlarmView, OperatorActionView } from '../../core/api/operations.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { Page } from '../../core/api/shared.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { StoredAlarm } from '../../operators/alarm-store.ts'
import type { NamedAction } from '../../operators/audit-log.ts'
import type { IdPage } from '../../platform/postgres/postgres.ts'
import { ID_PAGE, idPage, OfId } from '../page.ts'
import { askingOperator, operatorRoute } from '../plugins/operator-access.ts'

const AlarmSearch = Type.Object(
  {
    state: Type.Enum(['open', 'all'], { default: 'open' }),
    account: Type.Optional(Type.String()),
    ...ID_PAGE,
  },
  CLOSED,
)
const ActionSearch = Type.Object({ target: Type.Optional(Type.String()), ...ID_PAGE }, CLOSED)

/** GET /alarms and POST /alarms/:id/acknowledge; GET /actions: the audit log of operators. */
export const alarmRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { alarms, auditLog, accountManagement, directory, hostClock: clock } = app.operators
  /** The account of each alarm by its id, with its name. */
  const namesOf = async (listed: readonly StoredAlarm[]): Promise<Map<string, string>> =>
    directory.names([...new Set(listed.flatMap((alarm) => alarmAccount(alarm) ?? []))])

  app.get(
    '/alarms',
    operatorRoute('read', Page(AlarmView), { querystring: AlarmSearch }),
    async ({ query: { state, account, ...page } }) => {
      const accountId = account === undefined ? null : (await accountManagement.findNamed(account)).id
      let names = new Map<string, string>()
      const read = async (after: IdPage) => {
        const listed = await alarms.page({ openOnly: state === 'open', accountId, ...after })
        names = await namesOf(listed)
        return listed
      }
      return idPage(page, read, (alarm) => alarmView(alarm, names))
    },
  )

  app.get('/alarms/count', operatorRoute('read', AlarmCountView), async () => ({
    object: 'alarm_count' as const,
    open: await alarms.countOpen(),
  }))

  app.post(
    '/alarms/:id/acknowledge',
    operatorRoute('operations.write', AlarmView, { params: OfId }),
    async (request) => {
      const { id } = request.params
      const operator = askingOperator(request)
      const action = { action: 'alarm.acknowledge', target: id, details: {} }
      return auditLog.auditedAction(operator, action, async () => {
        const found = await alarms.acknowledge(id, operator.actor, new Date(clock()))
        if (!found) throw new ApiError('not_found', 'There is no such alarm.')
        return alarmView(found, await namesOf([found]))
      })
    },
  )

  app.get(
    '/actions',
    operatorRoute('read', Page(OperatorActionView), { querystring: ActionSearch }),
    async ({ query: { target, ...page } }) => {
      // An account that an operator opened has its email as the target of that action alone.
      const account = target?.includes('@') ? await directory.find(target) : null
      const targets = target === undefined ? null : [target, ...(account ? [account.id] : [])]
      return idPage(page, (after) => auditLog.page({ targets, ...after }), actionView)
    },
  )
}

const alarmView = (alarm: StoredAlarm, names: ReadonlyMap<string, string>): AlarmView =>
  jsonView(AlarmView, {
    ...alarm,
    accountId: alarmAccount(alarm),
    accountName: names.get(alarmAccount(alarm) ?? '') ?? null,
    severity: severityOf(alarm.kind),
    summary: alarmSentence(alarm),
    page: alarmPage(alarm),
    runbook: runbookPage(alarm.kind),
  })

export const actionView = (action: NamedAction): OperatorActionView =>
  jsonView(OperatorActionView, {
    ...action,
    outcome: action.outcome === 'failed' ? ('failed' as const) : ('asked' as const),
    details: (action.details ?? {}) as Record<string, unknown>,
  })
