import { readFileSync } from 'node:fs'
import type OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { testAccount, testStack } from '../helpers/resources.ts'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

interface Row {
  type: string
  field: string
  claim: string
}

const ROWS: Row[] = [
  ...read('docs/chat-fields.md').matchAll(/^\| `([\w.]+)` \| `(\w+)` \| ([a-z ]+) \|/gm),
].map(([, type, field, claim]) => ({ type: type!, field: field!, claim: claim! }))
const rowsOf = (type: string) => ROWS.filter((row) => row.type === type)

/** The fields of the interfaces in a declaration file, by their qualified names. */
function fieldsByType(source: string): Map<string, string[]> {
  const types = new Map<string, string[]>()
  const open: string[] = []
  for (const line of source.replace(/\/\*[\s\S]*?\*\//g, '').split('\n')) {
    const [, kind, name] = /^\s*(?:export )?(?:declare )?(interface|namespace) (\w+)[^{]*\{$/.exec(line) ?? []
    const isField = /^\s*(\w+)\??: /.exec(line)
    const type = open.join('.')
    if (isField && types.has(type) && !open.includes('')) types.get(type)!.push(isField[1]!)
    if (kind && name) {
      open.push(name)
      if (kind === 'interface') types.set(open.join('.'), [])
    } else if (/\{$/.test(line)) open.push('')
    if (/^\s*\}/.test(line)) open.pop()
  }
  return types
}

const TYPES = fieldsByType(read('node_modules/openai/resources/chat/completions/completions.d.ts'))

test('the table has each field of the types of the installed library, and no other', () => {
  const types = [...new Set(ROWS.map(({ type }) => type))]
  expect(types).toHaveLength(7)
  for (const type of types)
    expect(
      rowsOf(type)
        .map(({ field }) => field)
        .sort(),
      type,
    ).toEqual(TYPES.get(type)?.toSorted())
})

const stack = testStack({ models: { 'test/words': [{ at: 'beta', model: 'words-12.tag-fields' }] } })
const owner = testAccount(stack, '20.00')

const TOOLS = [{ type: 'function', function: { name: 'find_train', parameters: { type: 'object' } } }]
const MESSAGES = [{ role: 'user', content: 'Tell me about rail yards.' }]

/** A value of each field; with the other fields that it needs. */
const GIVEN: Record<string, Record<string, unknown>> = {
  messages: { messages: MESSAGES },
  model: { model: 'test/words' },
  audio: { audio: { voice: 'alloy', format: 'wav' } },
  frequency_penalty: { frequency_penalty: 0.5 },
  function_call: { function_call: 'auto' },
  functions: { functions: [{ name: 'find_train' }] },
  logit_bias: { logit_bias: { 50256: -100 } },
  logprobs: { logprobs: true },
  max_completion_tokens: { max_completion_tokens: 100 },
  max_tokens: { max_tokens: 100 },
  metadata: { metadata: { run: '7' } },
  modalities: { modalities: ['text', 'audio'] },
  moderation: { moderation: { model: 'any' } },
  n: { n: 2 },
  parallel_tool_calls: { parallel_tool_calls: false, tools: TOOLS },
  prediction: { prediction: { type: 'content', content: 'x' } },
  presence_penalty: { presence_penalty: 0.5 },
  prompt_cache_key: { prompt_cache_key: 'a' },
  prompt_cache_options: { prompt_cache_options: { ttl: '1h' } },
  prompt_cache_retention: { prompt_cache_retention: '24h' },
  reasoning_effort: { reasoning_effort: 'low', provider: { require_parameters: false } },
  response_format: { response_format: { type: 'json_object' } },
  safety_identifier: { safety_identifier: 'a' },
  seed: { seed: 7 },
  service_tier: { service_tier: 'flex' },
  stop: { stop: ['zebra'] },
  store: { store: true },
  stream: { stream: true },
  stream_options: { stream: true, stream_options: { include_usage: true } },
  temperature: { temperature: 0.5 },
  tool_choice: { tool_choice: 'none', tools: TOOLS },
  tools: { tools: TOOLS },
  top_logprobs: { logprobs: true, top_logprobs: 2 },
  top_p: { top_p: 0.5 },
  user: { user: 'a' },
  verbosity: { verbosity: 'low' },
  web_search_options: { web_search_options: {} },
}
/** Fields with an effect of the gateway's own, so that the provider gets no or another value. */
const OWN_EFFECT = ['model', 'metadata', 'max_completion_tokens', 'stream', 'stream_options']

async function ask(fields: Record<string, unknown>) {
  const response = await fetch(`${stack.url}/v2/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/words', messages: MESSAGES, ...fields }),
  })
  const ignored = response.headers.get('x-ignored-parameters')?.split(', ') ?? []
  return { status: response.status, ignored, text: await response.text() }
}
const lastSent = () => stack.providers.log.requests.at(-1)!.body as Record<string, unknown>

describe('each field of a request', () => {
  test.each(rowsOf('ChatCompletionCreateParamsBase'))('$field is $claim', async ({ field, claim }) => {
    const given = GIVEN[field]!
    const { status, ignored, text } = await ask(given)
    if (claim === 'refused') {
      expect(status, text).toBe(field === 'n' ? 400 : 422)
      expect(JSON.parse(text).error.param).toBe(field)
      if (field === 'n') return
      const loose = await ask({ ...given, provider: { require_parameters: false } })
      expect([loose.status, loose.ignored]).toEqual([200, [field]])
      expect(lastSent()).not.toHaveProperty(field)
      return
    }
    expect(status, text).toBe(200)
    expect(ignored).toEqual(claim === 'honoured' ? [] : [field])
    if (claim !== 'honoured') expect(lastSent()).not.toHaveProperty(field)
    else if (!OWN_EFFECT.includes(field)) expect(lastSent()[field]).toEqual(given[field])
  })
})

test('each field of a response is there, or is not, as the table says', async () => {
  const tools = { messages: [{ role: 'user', content: 'Use find_train to "Basel".' }], tools: TOOLS }
  const wholes = [await ask({ logprobs: true }), await ask(tools)].map(
    ({ text }) => JSON.parse(text) as OpenAI.ChatCompletion,
  )
  const streamed = [await ask({ stream: true, logprobs: true, stream_options: { include_usage: true } })]
  streamed.push(await ask({ stream: true, ...tools }))
  const chunks = streamed.flatMap(({ text }) =>
    [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!) as OpenAI.ChatCompletionChunk),
  )
  const found: Record<string, object[]> = {
    ChatCompletion: wholes,
    'ChatCompletion.Choice': wholes.flatMap(({ choices }) => choices),
    ChatCompletionMessage: wholes.flatMap(({ choices }) => choices.map((choice) => choice.message)),
    ChatCompletionChunk: chunks,
    'ChatCompletionChunk.Choice': chunks.flatMap(({ choices }) => choices),
    'ChatCompletionChunk.Choice.Delta': chunks.flatMap(({ choices }) =>
      choices.map((choice) => choice.delta),
    ),
  }
  for (const [type, objects] of Object.entries(found)) {
    const fields = new Set(objects.flatMap((object) => Object.keys(object)))
    for (const { field, claim } of rowsOf(type))
      expect([type, field, fields.has(field)]).toEqual([type, field, claim === 'honoured'])
  }
})
