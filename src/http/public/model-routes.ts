import type { FastifyPluginAsync } from 'fastify'
import type { SurfaceId } from '../../core/api/surfaces/surface-registry.ts'
import { chatCompletionsRoute } from './chat-completions.ts'
import { extendedChatRoute } from './extended-chat.ts'
import {
  imageEditsRoute,
  imageGenerationsRoute,
  speechRoute,
  transcriptionsRoute,
  translationsRoute,
} from './media-tasks.ts'
import { embeddingsRoute, moderationsRoute, rerankRoute } from './tasks.ts'

type ModelRoute = (path: string) => FastifyPluginAsync

/** The surfaces that run a call in the gateway's own contract, as the playground does too. */
export const MODEL_ROUTES: Partial<Record<SurfaceId, ModelRoute>> = {
  'chat-completions': chatCompletionsRoute,
  'chat-completions.extended': extendedChatRoute,
  embeddings: embeddingsRoute,
  rerank: rerankRoute,
  moderations: moderationsRoute,
  'images.generations': imageGenerationsRoute,
  'images.edits': imageEditsRoute,
  'audio.speech': speechRoute,
  'audio.transcriptions': transcriptionsRoute,
  'audio.translations': translationsRoute,
}
