import { SURFACES, type Surface } from '../../src/core/api/surfaces/surface-registry.ts'
import type { SurfaceGate, SurfaceGates } from './check.ts'
import { AGENT_CHECKS } from './checks/agent-loops.ts'
import { CHAT_ANSWER_CHECKS } from './checks/chat-answer-checks.ts'
import { CHAT_REQUEST_CHECKS } from './checks/chat-request-checks.ts'
import { EXTENDED_CHECKS } from './checks/extended-checks.ts'
import { MEDIA_GATES } from './checks/media-checks.ts'
import { EXTENDED_MESSAGES_CHECKS, MESSAGES_CHECKS } from './checks/messages-checks.ts'
import { OPENAI_CLIENT_CHECKS } from './checks/openai-client-checks.ts'
import { RESPONSES_CHECKS } from './checks/responses-checks.ts'
import { TASK_GATES } from './checks/task-checks.ts'

const OWN_GATES: SurfaceGates = {
  'chat-completions': { checks: [...CHAT_REQUEST_CHECKS, ...CHAT_ANSWER_CHECKS, ...OPENAI_CLIENT_CHECKS] },
  'chat-completions.extended': { checks: [...EXTENDED_CHECKS, ...AGENT_CHECKS] },
  messages: { checks: MESSAGES_CHECKS },
  responses: { checks: RESPONSES_CHECKS },
  ...TASK_GATES,
  ...MEDIA_GATES,
}

/** The same checks at the path of another surface of the handler. */
const gateAt = ({ checks, without }: SurfaceGate, from: Surface, to: Surface): SurfaceGate => ({
  ...(without && { without }),
  checks: checks.map((check) => ({
    ...check,
    run: (context) =>
      check.run({
        ...context,
        fetch: (input, init) => context.fetch(String(input).replace(from.path, to.path), init),
      }),
  })),
})

/** What is checked under /v2 where it differs, at the path under /v1. */
const GATES_BY_HANDLER: SurfaceGates = { messages: { checks: EXTENDED_MESSAGES_CHECKS } }

const GATES_UNDER_V2: SurfaceGates = Object.fromEntries(
  SURFACES.filter(({ id, handler }) => id !== handler && OWN_GATES[handler] && !OWN_GATES[id]).map(
    (surface) => {
      const mounted = SURFACES.find(({ id }) => id === surface.handler)!
      const gate = GATES_BY_HANDLER[surface.handler] ?? OWN_GATES[surface.handler]!
      return [surface.id, gateAt(gate, mounted, surface)]
    },
  ),
)

/**
 * What each surface has to pass. To bring a surface through the gate, add its checks to OWN_GATES; a surface under /v2
 * without checks of its own passes those of its handler's surface under /v1, or those in GATES_BY_HANDLER.
 */
export const SURFACE_GATES: SurfaceGates = { ...OWN_GATES, ...GATES_UNDER_V2 }
