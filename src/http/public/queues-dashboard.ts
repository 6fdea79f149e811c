import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { ApiError } from '../../core/kernel/errors.ts'
import type { JobQueue } from '../../platform/queues/queues.ts'
import { queuePrefix } from '../../platform/redis/redis-keys.ts'
import { secureHeaders } from '../plugins/security-headers.ts'

const PATH = '/admin/queues'
const SEALED = '[sealed]'
/** The dashboard's page loads its fonts from another host; the browser's own are used instead. */
const FONT_LINK = /<link href="https:\/\/fonts\.googleapis\.com[^>]*>/

/** The queues of a shard other than the first are shown with its tag: their names are the same. */
const prefixOf = ({ opts: { prefix = '' } }: JobQueue) =>
  prefix === queuePrefix(0) ? {} : { prefix: `${prefix}:` }

/** Bull Board for operators: every queue live, read-only, without the text of calls. */
export const queuesDashboard: FastifyPluginAsync<{ isSecure: boolean; publicPath: string }> = async (
  app,
  { isSecure, publicPath },
) => {
  const { queues } = app.operators
  const server = new FastifyAdapter()
  server.setBasePath(publicPath + PATH)
  // Read-only: a manually deleted settlement would be a lost charge.
  const ofCalls = queues.calls.flatMap(({ dispatch, settlement }) => [dispatch, settlement])
  const adapters = [...ofCalls, queues.events, queues.catalog, queues.mail].map((queue) => {
    const adapter = new BullMQAdapter(queue, { readOnlyMode: true, ...prefixOf(queue) })
    adapter.setFormatter('data', (data: Record<string, unknown>) =>
      'sealedBody' in data ? { ...data, sealedBody: SEALED } : data,
    )
    return adapter
  })
  createBullBoard({
    queues: adapters,
    serverAdapter: server,
    options: {
      uiConfig: {
        boardTitle: 'Shuntyard',
        miscLinks: [{ text: 'Operators’ pages', url: `${publicPath}/admin` }],
      },
    },
  })
  await app.register(async (scope) => {
    await secureHeaders(scope, 'queues-dashboard', isSecure)
    // The dashboard's own error handler turns every error into a 500.
    scope.addHook('onRoute', (route) => {
      route.errorHandler = app.errorHandler
      route.config = { ...route.config, permission: 'read' }
    })
    scope.addHook('onRequest', async (request, reply) => {
      try {
        await scope.requireOperator(request)
      } catch (error) {
        if (error instanceof ApiError && isNavigation(request))
          return reply.redirect(`${publicPath}/admin?next=${encodeURIComponent(PATH)}`)
        throw error
      }
    })
    scope.addHook('onSend', async (_, reply, payload) => {
      reply.header('cache-control', 'no-store')
      return typeof payload === 'string' ? payload.replace(FONT_LINK, '') : payload
    })
    await scope.register(server.registerPlugin(), { prefix: PATH })
  })
}

/** A browser's navigation is redirected to the sign-in page of operators. */
const isNavigation = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && headers.authorization === undefined && (headers.accept ?? '').includes('text/html')
