import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '../../config.ts'
import { GatewayView } from '../../core/api/gateway.ts'
import { answersSource } from '../../core/catalog/answers-source.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import type { Services } from '../../services.ts'

interface GatewayServices {
  config: Pick<Config, 'simulatedProvidersUrl' | 'simulateAll' | 'mail' | 'signInProviders'>
  catalog: () => CatalogSnapshot
  settings: Pick<Services['settings'], 'known'>
}

/** What every page of the console needs to know of this gateway, signed in or not. */
export const gatewayRoute: FastifyPluginAsyncTypebox<GatewayServices> = async (
  app,
  { config, catalog, settings },
) => {
  app.get('/gateway', { schema: { response: { 200: GatewayView } } }, async () => ({
    answers: answersSource(config, catalog()),
    mail: config.mail?.transport.kind ?? ('none' as const),
    providers: config.signInProviders.map(({ id, name }) => ({ id, name })),
    provider_status: (await settings.known()).providerStatusPublic,
  }))
}
