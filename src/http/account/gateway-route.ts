import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { GatewayView } from '../../core/api/gateway.ts'
import { completionsSource } from '../../core/catalog/completions-source.ts'
import { countModels } from '../../core/catalog/listed-models.ts'

/** The settings of this gateway that every page of the console needs, with or without a session. */
export const gatewayRoute: FastifyPluginAsyncTypebox = async (app) => {
  const { config, catalog, settings } = app.services
  app.get('/gateway', { schema: { response: { 200: GatewayView } } }, async () => ({
    answers: completionsSource(config, catalog()),
    mail: config.mail?.transport.kind ?? ('none' as const),
    providers: config.signInProviders.map(({ id, name }) => ({ id, name })),
    catalog: countModels(catalog()),
    provider_status: (await settings.known()).providerStatusPublic,
  }))
}
