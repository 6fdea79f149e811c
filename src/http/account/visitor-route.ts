import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { VisitorView } from '../../core/api/gateway.ts'
import { countModels } from '../../core/catalog/listed-models.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { actingOn } from '../plugins/session.ts'
import { sessionView } from './account-view.ts'
import { receivedView } from './organisations/invitation-routes.ts'

/** What every page of the console begins with: this gateway, who is signed in, and what they are invited to. */
export const visitorRoute: FastifyPluginAsyncTypebox = async (app) => {
  const { config, invitationStore } = app.accounts
  const { settings } = app.operators
  const gatewayView = async () => ({
    answers: app.catalog.completionsSource(),
    mail: config.mail?.transport.kind ?? ('none' as const),
    providers: config.signInProviders.map(({ id, name }) => ({ id, name })),
    catalog: countModels(app.catalog.snapshot()),
    free_credit_usd: config.freeCreditUsd,
    provider_status: (await settings.known()).providerStatusPublic,
  })

  // A 401 would appear as an error in the browser's console.
  app.get('/visitor', { schema: { response: { 200: VisitorView } } }, async (request, reply) => {
    try {
      await app.requirePermission('view')(request, reply)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_signed_in')
        return { session: null, gateway: await gatewayView(), invitations: [] }
      throw error
    }
    const acting = actingOn(request)
    const [session, gateway, invitations] = await Promise.all([
      sessionView(acting, app),
      gatewayView(),
      invitationStore.receivedBy(acting.person),
    ])
    return { session, gateway, invitations: invitations.map(receivedView) }
  })
}
