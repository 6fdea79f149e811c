import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { OrganisationBody } from '../../../core/api/organisations.ts'
import { SessionView } from '../../../core/api/sessions.ts'
import { actingOn, signedIn } from '../../plugins/session.ts'
import { sessionView } from '../account-view.ts'
import { organisationOf } from './acting-organisation.ts'

/** Creating and renaming an organisation. */
export const organisationRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { organisations, sessions } = app.accounts

  const opening = {
    onRequest: [app.requireSession],
    schema: { body: OrganisationBody, response: { 201: SessionView } },
  }
  app.post('/organisations', opening, async (request, reply) => {
    const { person, stored } = signedIn(request)
    const account = await organisations.create(request.body.name.trim(), person.id)
    await sessions.actOn(stored.id, account.id)
    request.actingSession = { stored, person, account, role: 'owner' }
    await app.recordAction(request, 'organisation.created', account.id, { name: account.name })
    return reply.code(201).send(await sessionView({ person, account, role: 'owner' }, app))
  })

  const renaming = {
    onRequest: [app.requirePermission('settings')],
    schema: { body: OrganisationBody, response: { 200: SessionView } },
  }
  app.patch('/organisation', renaming, async (request) => {
    const { id, name: former } = organisationOf(request)
    const account = await organisations.rename(id, request.body.name.trim())
    await app.recordAction(request, 'organisation.renamed', id, { name: account.name, former_name: former })
    return sessionView({ ...actingOn(request), account }, app)
  })
}
