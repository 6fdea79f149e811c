import type { SurfaceGates } from './check.ts'
import { AGENT_CHECKS } from './checks/agent-loops.ts'
import { CHAT_ANSWER_CHECKS } from './checks/chat-answer-checks.ts'
import { CHAT_REQUEST_CHECKS } from './checks/chat-request-checks.ts'
import { EXTENDED_CHECKS } from './checks/extended-checks.ts'
import { MEDIA_GATES } from './checks/media-checks.ts'
import { MESSAGES_CHECKS } from './checks/messages-checks.ts'
import { OPENAI_CLIENT_CHECKS } from './checks/openai-client-checks.ts'
import { RESPONSES_CHECKS } from './checks/responses-checks.ts'
import { TASK_GATES } from './checks/task-checks.ts'

/** What each surface has to pass. To bring a surface through the gate, add its checks here. */
export const SURFACE_GATES: SurfaceGates = {
  'chat-completions': { checks: [...CHAT_REQUEST_CHECKS, ...CHAT_ANSWER_CHECKS, ...OPENAI_CLIENT_CHECKS] },
  'chat-completions.extended': { checks: [...EXTENDED_CHECKS, ...AGENT_CHECKS] },
  messages: { checks: MESSAGES_CHECKS },
  responses: { checks: RESPONSES_CHECKS },
  ...TASK_GATES,
  ...MEDIA_GATES,
}
