import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { AccountActionName, ActionDetails } from '../../../core/accounts/account-action.ts'
import { ActivityEntry } from '../../../core/api/organisations.ts'
import { CLOSED } from '../../../core/api/request-fields.ts'
import { Page } from '../../../core/api/shared.ts'
import { isoTime } from '../../../core/kernel/time.ts'
import { ID_PAGE, idPage } from '../../page.ts'
import { actingOn } from '../../plugins/session.ts'

/** People's actions on the session's account. */
export const activityRoute: FastifyPluginAsyncTypebox = async (app) => {
  const { accountActions, members } = app.accounts
  const listing = { querystring: Type.Object(ID_PAGE, CLOSED), response: { 200: Page(ActivityEntry) } }
  const ofActivity = { onRequest: [app.requirePermission('activity')], schema: listing }
  app.get('/activity', ofActivity, async (request) => {
    const { account } = actingOn(request)
    const read = (page: { after: string | null; limit: number }) => accountActions.page(account.id, page)
    const page = await idPage(request.query, read, (action) => action)
    // Uses the current names of people.
    const names = await members.names(page.data.flatMap(({ personId, target }) => [personId, target]))
    return {
      ...page,
      data: page.data.map(({ id, createdAt, personId, action, target, details }) => ({
        ...{ id, at: isoTime(createdAt), action: action as AccountActionName },
        person: names.get(personId) ?? personId,
        target: names.get(target) ?? target,
        details: details as ActionDetails,
      })),
    }
  })
}
