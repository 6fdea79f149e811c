import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  AlarmDestinationChange,
  AlarmDestinationView,
  NewAlarmDestination,
} from '../../core/api/alarm-destinations.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { List } from '../../core/api/shared.ts'
import type { AlarmDestination } from '../../operators/alarm-destination-store.ts'
import { OfId } from '../page.ts'
import { askingOperator, needs, operatorRoute } from '../plugins/operator-access.ts'

/** /alarm-destinations: where alarms are sent. Responses never contain targets. */
export const alarmDestinationRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { alarmDestinations } = app.operators
  const ofOne = operatorRoute('settings.write', AlarmDestinationView, { params: OfId })

  app.get('/alarm-destinations', operatorRoute('read', List(AlarmDestinationView)), async () => ({
    object: 'list' as const,
    data: (await alarmDestinations.list()).map(destinationView),
  }))

  app.post(
    '/alarm-destinations',
    {
      ...needs('settings.write'),
      schema: { body: NewAlarmDestination, response: { 201: AlarmDestinationView } },
    },
    async (request, reply) => {
      const { minimum_severity: minimumSeverity, ...given } = request.body
      const operator = askingOperator(request)
      reply.code(201)
      return destinationView(await alarmDestinations.create(operator, { ...given, minimumSeverity }))
    },
  )

  const changing = { ...ofOne, schema: { ...ofOne.schema, body: AlarmDestinationChange } }
  app.patch('/alarm-destinations/:id', changing, async (request) => {
    const { minimum_severity: minimumSeverity, ...change } = request.body
    const changed = { ...change, ...(minimumSeverity !== undefined && { minimumSeverity }) }
    return destinationView(
      await alarmDestinations.change(askingOperator(request), request.params.id, changed),
    )
  })

  app.delete('/alarm-destinations/:id', ofOne, async (request) =>
    destinationView(await alarmDestinations.remove(askingOperator(request), request.params.id)),
  )

  app.post('/alarm-destinations/:id/test', ofOne, async (request) =>
    destinationView(await alarmDestinations.sendTest(askingOperator(request), request.params.id)),
  )
}

const destinationView = ({ targetHint, ...destination }: AlarmDestination): AlarmDestinationView =>
  jsonView(AlarmDestinationView, { ...destination, target: targetHint })
