import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import pino from 'pino'
import { createApiRuntime } from '../../src/compose/api.ts'
import { readConfig } from '../../src/config.ts'

export interface RegisteredRoute {
  method: HTTPMethods
  /** With `:name` and `*` for what varies. */
  path: string
}

const CHANNEL = 'fastify.initialization'

/** Every route that an API instance with this environment has, from the application itself, which is built and not run. */
export async function registeredRoutes(environment: Record<string, string>): Promise<RegisteredRoute[]> {
  const routes: RegisteredRoute[] = []
  const watch = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) routes.push({ method: one as HTTPMethods, path: url })
    })
  }
  subscribe(CHANNEL, watch)
  try {
    const api = await createApiRuntime(readConfig(environment), pino({ level: 'silent' }))
    await api.app.ready()
    await api.stop()
  } finally {
    unsubscribe(CHANNEL, watch)
  }
  return routes
}
