import type { SurfaceId } from '../surfaces/surface-registry.ts'

const ID = 'chatcmpl_01JABCDEFGHJKMNPQRSTVWXYZ0'
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
    choices: [
      { index: 0, message: { role: 'assistant', content: TEXT }, logprobs: null, finish_reason: 'stop' },
    ],
    usage: { ...USAGE, prompt_tokens_details: { cached_tokens: 0 }, cost: '0.0000025' },
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
    id: ID,
    object: 'response',
    created_at: CREATED,
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
      cost: '0.0000025',
    },
    error: null,
    incomplete_details: null,
    max_output_tokens: null,
    parallel_tool_calls: true,
    reasoning: { effort: null, summary: null },
    temperature: null,
    top_p: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    store: false,
    truncation: 'disabled',
    instructions: null,
    metadata: null,
    tools: [],
    previous_response_id: null,
  },
  embeddings: {
    id: ID,
    object: 'list',
    model: 'text-embedding-3-small',
    data: [{ object: 'embedding', index: 0, embedding: [0.6, -0.8] }],
    usage: { prompt_tokens: 8, total_tokens: 8 },
  },
  rerank: {
    id: ID,
    model: 'cohere/rerank-v3.5',
    results: [
      { index: 0, relevance_score: 0.97 },
      { index: 1, relevance_score: 0.01 },
    ],
    meta: { billed_units: { search_units: 1 } },
  },
  moderations: {
    id: ID,
    model: 'omni-moderation-latest',
    results: [{ flagged: false, categories: { violence: false }, category_scores: { violence: 0.0001 } }],
  },
  'audio.transcriptions': {
    text: 'The train on track two departs.',
    usage: { type: 'duration', seconds: 3 },
  },
  models: {
    object: 'list',
    data: [{ id: 'auto', object: 'model', created: CREATED, owned_by: 'switchyard' }],
  },
  credits: { data: { total_credits: '25.00', total_usage: '1.25', available: '23.75' } },
}
