import type { FastifyPluginAsync } from 'fastify'
import type { Surface } from '../../core/api/surfaces/surface-registry.ts'
import { onStableChat } from '../../core/presets/apply-preset.ts'
import { AUDIO_ROUTES } from './audio.ts'
import { chatCompletionsRoute } from './chat-completions.ts'
import { extendedChatRoute } from './extended-chat.ts'
import { IMAGE_ROUTES } from './images.ts'
import { TEXT_RESULT_ROUTES } from './text-results.ts'
import { withPreset } from './use-preset.ts'
import { chatGuests } from './x402-calls.ts'

type ModelRoute = (path: string, surface: Surface) => FastifyPluginAsync

/** The surfaces that run a call in the gateway's own contract. */
export const MODEL_ROUTES: Partial<Record<Surface['handler'], ModelRoute>> = {
  'chat-completions': chatCompletionsRoute((app) => ({
    readBody: (request) => withPreset(request, app.calls.presetCache, onStableChat),
    guests: chatGuests(app),
  })),
  'chat-completions.extended': extendedChatRoute,
  ...TEXT_RESULT_ROUTES,
  ...IMAGE_ROUTES,
  ...AUDIO_ROUTES,
}
