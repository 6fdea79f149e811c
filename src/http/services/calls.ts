import type { PresetCache } from '../../accounts/presets/preset-cache.ts'
import type { PromptLogStore } from '../../calls/prompt-logs/prompt-log-store.ts'
import type { BackgroundCalls } from '../../calls/stored-responses/background-calls.ts'
import type { StoredResponseStore } from '../../calls/stored-responses/stored-response-store.ts'
import type { RefusalCounter } from '../../operators/refusal-counter.ts'
import type { RefusalStore } from '../../operators/refusal-store.ts'
import type { ReasoningBox } from '../calls/reasoning-box.ts'
import type { ChatServices } from '../public/chat-completions.ts'
import type { PaidCalls } from '../public/x402-calls.ts'

declare module 'fastify' {
  interface FastifyInstance {
    calls: ApiCalls
  }
}

/** Everything that a call needs, from its key to its response, and what is stored of calls. */
export interface ApiCalls extends ChatServices {
  /** Null: every call needs a key. */
  paidCalls: PaidCalls | null
  presetCache: PresetCache
  reasoningBox: ReasoningBox
  storedResponses: StoredResponseStore
  backgroundCalls: BackgroundCalls
  promptLogStore: PromptLogStore
  /** Requests that were refused before a call was admitted. */
  refusals: RefusalCounter
  refusalStore: RefusalStore
}
