import type { FastifyPluginAsync } from 'fastify'
import { LiveView } from '../../core/api/operations.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { eventsOf, startEventStream } from '../event-stream.ts'
import { LiveBoard } from './live-board.ts'
import { type LiveServices, liveView } from './live-view.ts'

/** GET /live: the figures of this moment, every second, as server-sent events. */
export const liveRoutes: FastifyPluginAsync<LiveServices> = async (app, services) => {
  const board = new LiveBoard(() => liveView(services))
  app.addHook('preClose', async () => board.close())

  // No HEAD: Node would send nothing of its answer before its end.
  app.get('/live', { exposeHeadRoute: false, schema: eventsOf(LiveView) }, async (_request, reply) => {
    if (!board.hasRoom) {
      throw new ApiError('overloaded', 'Too many watch this instance already. Retry shortly.', {
        retryAfterSeconds: 5,
      })
    }
    const response = startEventStream(reply)
    response.flushHeaders()
    board.add(response)
  })
}
