import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { AccountActionName, ActionDetails } from '../../../core/accounts/account-action.ts'
import { ActivityEntry } from '../../../core/api/organisations.ts'
import { CLOSED } from '../../../core/api/request-fields.ts'
import { Page } from '../../../core/api/shared.ts'
import { isoTime } from '../../../core/kernel/time.ts'
import type { IdPage } from '../../../platform/postgres/postgres.ts'
import { ID_PAGE, idPage } from '../../page.ts'
import { actingOn } from '../../plugins/session.ts'

/** People's actions on the session's account. */
export const activityRoute: FastifyPluginAsyncTypebox = async (app) => {
  const { accounts, accountActions, members } = app.accounts
  const querystring = Type.Object({ target: Type.Optional(Type.String()), ...ID_PAGE }, CLOSED)
  const listing = { querystring, response: { 200: Page(ActivityEntry) } }
  const ofActivity = { onRequest: [app.requirePermission('activity')], schema: listing }
  app.get('/activity', ofActivity, async (request) => {
    const { account } = actingOn(request)
    const { target: wanted, ...asked } = request.query
    const person = wanted?.includes('@') ? await accounts.find(wanted) : null
    const targets = wanted === undefined ? null : [wanted, ...(person ? [person.id] : [])]
    const read = (page: IdPage) => accountActions.page(account.id, { targets, ...page })
    const page = await idPage(asked, read, (action) => action)
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
