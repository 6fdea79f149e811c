import { responseIdOf } from '../../kernel/ids.ts'
import type { SurfaceId } from '../surfaces/surface-registry.ts'
import { referencesOf } from './kind-references.ts'
import { EXAMPLE_ID as ID } from './surface-reference.ts'

const CREATED = 1_767_225_600
const TEXT = 'To sort cars into trains.'
const COMPLETION = { id: ID, object: 'chat.completion', created: CREATED, model: 'auto' }
const USAGE = { prompt_tokens: 13, completion_tokens: 6, total_tokens: 19 }

/** Responses to the examples of surface-examples.ts. */
export const ANSWER_EXAMPLES: Readonly<Partial<Record<SurfaceId, object>>> = {
  'chat-completions': {
    ...COMPLETION,
    choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
    usage: USAGE,
  },
  'chat-completions.extended': {
    ...COMPLETION,
    system_fingerprint: null,
    choices: [
      { index: 0, message: { role: 'assistant', content: TEXT }, logprobs: null, finish_reason: 'stop' },
    ],
    usage: { ...USAGE, prompt_tokens_details: { cached_tokens: 0 }, cost: 0.0000025, cost_usd: '0.0000025' },
  },
  messages: {
    id: 'msg_01JABCDEFGHJKMNPQRSTVWXYZ0',
    type: 'message',
    role: 'assistant',
    model: 'auto',
    content: [{ type: 'text', text: TEXT }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: 13,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 6,
    },
  },
  'messages.count-tokens': { input_tokens: 13 },
  responses: {
    id: responseIdOf(ID),
    object: 'response',
    created_at: CREATED,
    completed_at: null,
    status: 'completed',
    model: 'auto',
    output: [
      {
        id: `msg_${ID}`,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: TEXT, annotations: [], logprobs: [] }],
      },
    ],
    usage: {
      input_tokens: 13,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 6,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 19,
      cost: 0.0000025,
      cost_usd: '0.0000025',
    },
    error: null,
    incomplete_details: null,
    max_output_tokens: null,
    parallel_tool_calls: true,
    reasoning: { effort: null, summary: null },
    temperature: null,
    top_p: null,
    presence_penalty: null,
    frequency_penalty: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    store: true,
    background: false,
    truncation: 'disabled',
    instructions: null,
    metadata: null,
    tools: [],
    previous_response_id: null,
  },
  ...referencesOf('answer'),
  models: {
    object: 'list',
    data: [{ id: 'auto', object: 'model', created: CREATED, owned_by: 'shuntyard' }],
  },
  credits: { data: { total_credits: '25.00', total_usage: '1.25', available: '23.75' } },
  'credits.extended': {
    data: {
      ...{ total_credits: 25, total_usage: 1.25, total_credits_usd: '25.00', total_usage_usd: '1.25' },
      available: '23.75',
    },
  },
}
