import type { Wire } from '../core/catalog/catalog.ts'
import { chatCompletions } from './chat-completions.ts'
import { bedrockConverse } from './chat-to-converse.ts'
import { googleGenerateContent } from './chat-to-google.ts'
import { anthropicMessages } from './chat-to-messages.ts'
import { openaiResponses } from './chat-to-responses.ts'
import type { WireMapping } from './wire.ts'

/** How a chat is asked and read on each wire. */
export const WIRE_MAPPINGS: Record<Wire, WireMapping> = {
  'chat-completions': chatCompletions,
  'anthropic-messages': anthropicMessages,
  'google-generate-content': googleGenerateContent,
  responses: openaiResponses,
  'bedrock-converse': bedrockConverse,
}
