import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { GatewayView } from '../../core/api/gateway.ts'
import { countModels } from '../../core/catalog/listed-models.ts'

/** The settings of this gateway that every page of the console needs, with or without a session. */
export const gatewayRoute: FastifyPluginAsyncTypebox = async (app) => {
  const { config } = app.accounts
  const { settings } = app.operators
  app.get('/gateway', { schema: { response: { 200: GatewayView } } }, async () => ({
    answers: app.catalog.completionsSource(),
    mail: config.mail?.transport.kind ?? ('none' as const),
    providers: config.signInProviders.map(({ id, name }) => ({ id, name })),
    catalog: countModels(app.catalog.snapshot()),
    provider_status: (await settings.known()).providerStatusPublic,
  }))
}
