import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { GatewaySettingsView } from '../../core/api/gateway.ts'
import { askingOperator, operatorRoute } from '../plugins/operator-access.ts'

/** GET and PATCH /settings: settings that operators can change while the gateway runs. */
export const settingsRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { settings } = app.operators
  app.get('/settings', operatorRoute('read', GatewaySettingsView), async () => view(await settings.read()))

  const changing = operatorRoute('settings.write', GatewaySettingsView, { body: GatewaySettingsView })
  app.patch('/settings', changing, async (request) => {
    const change = { providerStatusPublic: request.body.provider_status_public }
    return view(await settings.change(askingOperator(request), change))
  })
}

const view = ({ providerStatusPublic }: { providerStatusPublic: boolean }): GatewaySettingsView => ({
  provider_status_public: providerStatusPublic,
})
