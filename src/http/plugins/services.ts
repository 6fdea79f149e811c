import plugin from 'fastify-plugin'
import type { ApiServices } from '../../compose/api.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The stores and services of this process. A route names those that it uses; a scope may replace some. */
    services: ApiServices
  }
}

/** Decorates the app with the services that its routes use. */
export const provideServices = plugin<{ services: ApiServices }>(
  async (app, options) => {
    app.decorate('services', options.services)
  },
  { name: 'services' },
)
