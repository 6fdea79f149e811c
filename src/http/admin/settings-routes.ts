import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { GatewaySettingsView } from '../../core/api/gateway.ts'
import { askingOperator, needs } from '../plugins/operator-access.ts'

/** GET and PATCH /settings: settings that operators can change while the gateway runs. */
export const settingsRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { settings } = app.operators
  const answer = { 200: GatewaySettingsView }
  app.get('/settings', { ...needs('read'), schema: { response: answer } }, async () =>
    view(await settings.read()),
  )
  app.patch(
    '/settings',
    { ...needs('settings.write'), schema: { body: GatewaySettingsView, response: answer } },
    async (request) => {
      const change = { providerStatusPublic: request.body.provider_status_public }
      return view(await settings.change(askingOperator(request), change))
    },
  )
}

const view = ({ providerStatusPublic }: { providerStatusPublic: boolean }): GatewaySettingsView => ({
  provider_status_public: providerStatusPublic,
})
