import fc from 'fast-check'
import { damaged } from '../helpers/damaged.ts'

/** What a caller knows that a request may name. */
export interface Known {
  ids: readonly string[]
  model: string
}

const PART = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const FUNCTION = {
  name: 'f',
  description: 'd',
  parameters: { type: 'object', properties: { a: { type: 'string' } } },
}

const chat = (model: string) => ({
  model,
  messages: [
    { role: 'system', content: 'a' },
    { role: 'user', name: 'b', content: [{ type: 'text', text: 'c' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'd', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'd', content: 'e' },
    { role: 'user', content: 'g' },
  ],
  max_tokens: 5,
  temperature: 1,
  stop: ['h'],
  seed: 1,
  stream: false,
  tools: [{ type: 'function', function: FUNCTION }],
  response_format: { type: 'json_schema', json_schema: { name: 'i', schema: { type: 'object' } } },
  provider: {
    order: ['alpha'],
    only: ['alpha'],
    sort: 'price',
    max_price: { prompt: 9, completion: '9' },
    zdr: true,
  },
  metadata: { image: PART },
})

/** A body that a path takes, by path; others are given fields from all of them. */
const takenBodies = (model: string): Record<string, object> => ({
  '/v1/chat/completions': chat(model),
  '/console/api/playground/chat-completions': chat(model),
  '/v1/provider-keys': { provider: 'alpha', key: 'abc', name: 'n', allow_fallback: true },
  '/v2/provider-keys': { provider: 'alpha', key: 'abc', name: 'n', allow_fallback: true },
  '/v1/provider-keys/:id': { name: 'n', allow_fallback: true, disabled: false },
  '/v2/provider-keys/:id': { name: 'n', allow_fallback: true, disabled: false },
  '/billing/topups': { amount_usd: '25.00', rail: 'card' },
  '/console/api/top-ups': { amount_usd: '25.00', rail: 'card' },
  '/console/api/sign-up': { email: 'a@example.test', password: 'points and levers' },
  '/console/api/sign-in': { email: 'a@example.test', password: 'points and levers' },
  '/console/api/account': { low_balance_usd: '1.00' },
  '/console/api/password': { current_password: 'not the password', new_password: 'points and levers' },
  '/console/api/verify': { token: 'a' },
  '/console/api/webhooks': { url: 'https://example.com/a', event_types: ['topup.completed'] },
  '/console/api/keys': {
    name: 'n',
    limit_usd: '1.00',
    limit_reset: 'daily',
    expires_at: '2099-01-01T00:00:00Z',
    customer_requests_per_minute: 10,
    customer_concurrent_calls: 5,
  },
  '/admin/api/session': { admin_key: `sk-sy-admin-${'a'.repeat(49)}` },
})

const GARBAGE = [
  '',
  ' ',
  '{',
  '[]',
  '""',
  'null',
  '0',
  '{"a":1,}',
  '\u00ef\u00bb\u00bf{}',
  '\u00ff\u00fe',
  '{"a":"\\ud800"}',
  '\0',
]

/** A body for a path: near what it takes, or nothing like it. Characters up to U+00FF stand for bytes. */
export function anyBody(path: string, { model }: Known): fc.Arbitrary<string> {
  const taken = takenBodies(model)
  const fields: Record<string, unknown> = Object.assign({}, ...Object.values(taken))
  const some = fc
    .subarray(Object.keys(fields), { maxLength: 4 })
    .map((names) => Object.fromEntries(names.map((name) => [name, fields[name]])))
  const near = taken[path] ? fc.oneof(damaged(taken[path]), fc.constant(taken[path])) : some.chain(damaged)
  const bytes = (value: unknown) => Buffer.from(JSON.stringify(value) ?? '').toString('latin1')
  return fc.oneof(
    { weight: 6, arbitrary: near.map(bytes) },
    { weight: 1, arbitrary: fc.jsonValue().map(bytes) },
    { weight: 1, arbitrary: fc.constantFrom(...GARBAGE) },
    {
      weight: 1,
      arbitrary: fc.uint8Array({ maxLength: 200 }).map((data) => Buffer.from(data).toString('latin1')),
    },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 3_000 }).map((depth) => '['.repeat(depth)) },
  )
}
