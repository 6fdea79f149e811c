import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { TSchema } from 'typebox'
import type { SurfaceId } from '../../core/api/surfaces/surface-registry.ts'
import type { ChatRequest } from '../../core/calls/chat-request.ts'
import {
  EmbeddingsBody,
  ModerationsBody,
  normalizeEmbeddings,
  normalizeModerations,
  normalizeRerank,
  RerankBody,
} from '../../core/calls/task-request.ts'
import { callingKey, mayCall, serveCall } from '../calls/serve-call.ts'
import { taskFormat } from '../calls/task-format.ts'

interface TaskSurface<Body> {
  id: SurfaceId
  summary: string
  body: TSchema
  normalize: (body: Body) => ChatRequest
}

/** POST of what is no chat: validate, start the call, write its whole answer. */
const taskRoute =
  <Body>({ id, summary, body, normalize }: TaskSurface<Body>) =>
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const deps = app.services.callPath
    app.post(
      path,
      {
        onRequest: [app.requireKey, app.requireSurface(id), mayCall, app.weighBody],
        bodyLimit: deps.limits.textBodyLimitBytes,
        schema: { summary, body },
      },
      async (request, reply) => {
        const chat = normalize(request.body as Body)
        const asked = {
          chat,
          fingerprint: { surface: id, task: chat.task, models: chat.models },
          format: taskFormat(chat.task!),
        }
        return serveCall(callingKey(request), asked, request, reply, deps)
      },
    )
  }

export const embeddingsRoute = taskRoute<EmbeddingsBody>({
  id: 'embeddings',
  summary: 'Vectors of texts',
  body: EmbeddingsBody,
  normalize: normalizeEmbeddings,
})

export const rerankRoute = taskRoute<RerankBody>({
  id: 'rerank',
  summary: 'Documents by their relevance to a query',
  body: RerankBody,
  normalize: normalizeRerank,
})

export const moderationsRoute = taskRoute<ModerationsBody>({
  id: 'moderations',
  summary: 'Verdicts on texts and images',
  body: ModerationsBody,
  normalize: normalizeModerations,
})
