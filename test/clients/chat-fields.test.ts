import { readFileSync } from 'node:fs'
import type OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { extendedFormat } from '../../src/http/calls/extended-format.ts'
import { fieldsByType } from '../helpers/declared-fields.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

interface Row {
  type: string
  field: string
  claim: string
}

const ROWS: Row[] = [
  ...read('test/clients/chat-fields.md').matchAll(/^\| `([\w.]+)` \| `(\w+)` \| ([a-z ]+) \|/gm),
].map(([, type, field, claim]) => ({ type: type!, field: field!, claim: claim! }))
const rowsOf = (type: string) => ROWS.filter((row) => row.type === type)

const CHAT = read('node_modules/openai/resources/chat/completions/completions.d.ts')
const others = ['completions', 'shared'].map((name) => read(`node_modules/openai/resources/${name}.d.ts`))
const TYPES = new Map([...others, CHAT].flatMap((source) => [...fieldsByType(source)]))
const UNIONS = ['ContentPart', 'MessageParam', 'MessageToolCall', 'Tool', 'ToolChoiceOption']

test('the table has each type of message, part, tool, choice and format', () => {
  const unions = UNIONS.map(
    (name) => new RegExp(`^export type ChatCompletion${name} = (.*);`, 'm').exec(CHAT)![1]!,
  )
  unions.push(/response_format\?: (.*);/.exec(CHAT)![1]!)
  const members = unions.flatMap((union) => union.split(' | ')).filter((member) => !member.startsWith("'"))
  expect(members.length).toBeGreaterThan(19)
  for (const member of members) expect(rowsOf(member.replace('Shared.', '')), member).not.toEqual([])
})

test('the table has each field of the types of the installed library, and no other', () => {
  const types = [...new Set(ROWS.map(({ type }) => type))]
  for (const type of types)
    expect(
      rowsOf(type)
        .map(({ field }) => field)
        .sort(),
      type,
    ).toEqual(TYPES.get(type)?.toSorted())
})

const stack = testStack({
  models: {
    'test/words': [{ at: 'beta', model: 'words-12.tag-fields' }],
    'test/sees': {
      input_modalities: ['text', 'image', 'audio', 'file'],
      offers: [{ at: 'beta', model: 'words-12.tag-parts' }],
    },
  },
})
const owner = testAccount(stack, '20.00')

const TOOLS = [{ type: 'function', function: { name: 'find_train', parameters: { type: 'object' } } }]
const MESSAGES = [{ role: 'user', content: 'Tell me about rail yards.' }]

/** A value of each field; with the other fields that it needs. */
const GIVEN: Record<string, Record<string, unknown>> = {
  messages: { messages: MESSAGES },
  model: { model: 'test/words' },
  audio: { audio: { voice: 'alloy', format: 'wav' } },
  frequency_penalty: { frequency_penalty: 0.5 },
  function_call: { function_call: 'auto', functions: [{ name: 'find_train' }] },
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
const OWN_EFFECT = [
  ...['model', 'metadata', 'max_completion_tokens', 'stream', 'stream_options', 'functions', 'function_call'],
  'prompt_cache_key',
]

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

const user = (...content: object[]) => ({ model: 'test/sees', messages: [{ role: 'user', content }] })
const PNG = 'data:image/png;base64,iVBORw0KGgo='
const breakpoint = { prompt_cache_breakpoint: { mode: 'explicit' } }
const call = { id: 'call_1', type: 'function', function: { name: 'find_train', arguments: '{"to":"Bern"}' } }
const assistant = { role: 'assistant', content: 'Wait.', name: 'clerk', tool_calls: [call] }
const loop = {
  messages: [...MESSAGES, assistant, { role: 'tool', content: 'at 9', tool_call_id: 'call_1' }],
  tools: TOOLS,
}
const FUNCTION = {
  name: 'find',
  description: 'Finds.',
  parameters: { type: 'object', title: 'To' },
  strict: true,
}
const SCHEMA = { name: 'place', description: 'A place.', schema: { type: 'object' }, strict: false }
const ofRole = (role: string) => ({ messages: [{ role, content: 'Be brief.', name: 'clerk' }, ...MESSAGES] })
const choosing = (tool_choice: object) => ({ tools: TOOLS, tool_choice })

/** A request with the honoured fields of each nested type, as JSON that the provider gets, and with those without effect. */
const NESTED: Record<string, [body: Record<string, unknown>, sent: Record<string, string>]> = {
  ChatCompletionDeveloperMessageParam: [
    ofRole('developer'),
    { role: '"role":"system"', content: '"Be brief."', name: '"name":"clerk"' },
  ],
  ChatCompletionSystemMessageParam: [
    ofRole('system'),
    { role: '"role":"system"', content: '"Be brief."', name: '"name":"clerk"' },
  ],
  ChatCompletionUserMessageParam: [
    ofRole('user'),
    { role: '"role":"user"', content: '"Be brief."', name: '"name":"clerk"' },
  ],
  ChatCompletionAssistantMessageParam: [
    {
      ...loop,
      messages: loop.messages.map((message) =>
        message === assistant
          ? {
              ...message,
              audio: { id: 'audio_1' },
              function_call: { name: 'old', arguments: '' },
              refusal: 'No.',
            }
          : message,
      ),
    },
    { role: '"assistant"', content: '"Wait."', name: '"name":"clerk"', tool_calls: '"tool_calls":[' },
  ],
  ChatCompletionToolMessageParam: [
    loop,
    { role: '"role":"tool"', content: '"at 9"', tool_call_id: '"tool_call_id":"call_1"' },
  ],
  ChatCompletionFunctionMessageParam: [
    {
      messages: [
        ...MESSAGES,
        { role: 'assistant', content: null, function_call: call.function },
        { role: 'function', name: 'clerk', content: 'at 9' },
      ],
      functions: [FUNCTION],
    },
    { role: '"role":"tool"', content: '"at 9"', name: '"name":"clerk"' },
  ],
  ChatCompletionMessageFunctionToolCall: [
    loop,
    {
      id: '"id":"call_1"',
      function: '"function":{"name":"find_train","arguments"',
      type: '"type":"function"',
    },
  ],
  'ChatCompletionMessageFunctionToolCall.Function': [
    loop,
    { name: '"name":"find_train"', arguments: JSON.stringify(call.function.arguments) },
  ],
  ChatCompletionContentPartText: [
    user({ type: 'text', text: 'Wait.', ...breakpoint }, { type: 'image_url', image_url: { url: PNG } }),
    { text: '"Wait."', type: '"type":"text"' },
  ],
  ChatCompletionContentPartImage: [
    user({ type: 'image_url', image_url: { url: PNG }, ...breakpoint }),
    { image_url: '"image_url":{', type: '"image_url"' },
  ],
  'ChatCompletionContentPartImage.ImageURL': [
    user({ type: 'image_url', image_url: { url: PNG, detail: 'low' } }),
    { url: PNG, detail: '"detail":"low"' },
  ],
  ChatCompletionContentPartInputAudio: [
    user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' }, ...breakpoint }),
    { input_audio: '"input_audio":{', type: '"type":"input_audio"' },
  ],
  'ChatCompletionContentPartInputAudio.InputAudio': [
    user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }),
    { data: '"AAAA"', format: '"mp3"' },
  ],
  'ChatCompletionContentPart.File': [
    user({ type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' }, ...breakpoint }),
    { file: '"file":{', type: '"type":"file"' },
  ],
  'ChatCompletionContentPart.File.File': [
    user({ type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } }),
    { file_data: 'application/pdf', filename: '"a.pdf"' },
  ],
  ChatCompletionContentPartRefusal: [
    { messages: [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'Not that.' }] }, ...MESSAGES] },
    { refusal: 'Not that.', type: 'Not that.' },
  ],
  ChatCompletionFunctionTool: [
    { tools: [{ type: 'function', function: FUNCTION }] },
    { function: '"function":{', type: '"type":"function"' },
  ],
  FunctionDefinition: [
    { tools: [{ type: 'function', function: FUNCTION }] },
    { name: '"find"', description: '"Finds."', parameters: '"title":"To"', strict: '"strict":true' },
  ],
  ChatCompletionNamedToolChoice: [
    choosing({ type: 'function', function: { name: 'find_train' } }),
    { function: '"tool_choice":{"type":"function","function"', type: '"tool_choice":{"type":"function"' },
  ],
  'ChatCompletionNamedToolChoice.Function': [
    choosing({ type: 'function', function: { name: 'find_train' } }),
    { name: '"tool_choice":{"type":"function","function":{"name":"find_train"' },
  ],
  ResponseFormatText: [{ response_format: { type: 'text' } }, { type: '"response_format":{"type":"text"' }],
  ResponseFormatJSONObject: [{ response_format: { type: 'json_object' } }, { type: '"type":"json_object"' }],
  ResponseFormatJSONSchema: [
    { response_format: { type: 'json_schema', json_schema: SCHEMA } },
    { type: '"type":"json_schema"', json_schema: '"json_schema":{' },
  ],
  'ResponseFormatJSONSchema.JSONSchema': [
    { response_format: { type: 'json_schema', json_schema: SCHEMA } },
    { name: '"place"', description: '"A place."', schema: '"schema":{', strict: '"strict":false' },
  ],
  ChatCompletionStreamOptions: [
    { stream: true, stream_options: { include_obfuscation: true, include_usage: true } },
    { include_usage: '"include_usage":true' },
  ],
}

/** A request with each refused field, and the start of the path that the refusal names. */
const CUSTOM = { type: 'custom', custom: { name: 'write' } }
const REFUSED: Record<string, [body: Record<string, unknown>, param: string]> = {
  'ChatCompletionContentPart.File.File': [
    user({ type: 'file', file: { file_id: 'file_1' } }),
    'messages[0].content[0].file',
  ],
  ChatCompletionCustomTool: [{ tools: [CUSTOM] }, 'tools[0]'],
  ChatCompletionNamedToolChoiceCustom: [choosing(CUSTOM), 'tool_choice'],
  ChatCompletionAllowedToolChoice: [
    choosing({ type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } }),
    'tool_choice',
  ],
  ChatCompletionMessageCustomToolCall: [
    {
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'write', input: 'x' } }],
        },
      ],
    },
    'messages[0].tool_calls[0]',
  ],
}

describe('each field within a request', () => {
  test.each(Object.entries(NESTED))('of the type %s is as the table says', async (type, [body, sent]) => {
    const { status, text, ignored } = await ask(body)
    expect(status, text).toBe(200)
    const json = JSON.stringify(lastSent())
    const named = ignored.map((path) => path.split('.').at(-1))
    for (const { field, claim } of rowsOf(type)) {
      if (claim === 'honoured') expect(json, field).toContain(sent[field]!)
      if (claim === 'not applicable') expect(json, field).not.toContain(`"${field}"`)
      expect(named.includes(field), field).toBe(claim === 'not applicable')
    }
  })

  test.each(Object.entries(REFUSED))(
    'of the type %s is refused with its path',
    async (type, [body, param]) => {
      const { status, text } = await ask(body)
      expect(status, text).toBe(400)
      expect(JSON.parse(text).error.param.startsWith(param)).toBe(true)
      expect(rowsOf(type).map(({ claim }) => claim)).toContain('refused')
    },
  )

  test('is in one of both lists', () => {
    const claims = new Map(ROWS.map(({ type, claim, field }) => [`${type} ${field}`, claim]))
    for (const [type, fields] of Object.entries(NESTED))
      for (const field of Object.keys(fields[1]))
        expect(claims.get(`${type} ${field}`), `${type} ${field}`).toBe('honoured')
  })
})

test('each field of a response is there, or is not, as the table says', async () => {
  const tools = { messages: [{ role: 'user', content: 'Use find_train to "Basel".' }], tools: TOOLS }
  const wholes = [await ask({ logprobs: true, top_logprobs: 1 }), await ask(tools)].map(
    ({ text }) => JSON.parse(text) as OpenAI.ChatCompletion,
  )
  const streamed = [
    await ask({ stream: true, logprobs: true, top_logprobs: 1, stream_options: { include_usage: true } }),
  ]
  streamed.push(await ask({ stream: true, ...tools }))
  const chunks = streamed.flatMap(({ text }) =>
    [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!) as OpenAI.ChatCompletionChunk),
  )
  const choices = chunks.flatMap((chunk) => chunk.choices)
  const deltas = choices.map(({ delta }) => delta)
  const calls = deltas.flatMap((delta) => delta.tool_calls ?? [])
  const tokens = choices.flatMap(({ logprobs }) => logprobs?.content ?? [])
  const counts = {
    promptTokens: 9,
    completionTokens: 4,
    reasoningTokens: 2,
    cachedTokens: 3,
    cacheWriteTokens: 1,
  }
  const head = { id: 'chatcmpl_1' as const, created: 1, model: 'test/words' }
  const reported = extendedFormat({ includeUsage: true, seal: JSON.stringify }).whole(head, [
    'completion',
    0,
    { content: '', annotations: [{ type: 'url_citation' }] },
    'stop',
    counts,
  ])
  const rendered = JSON.parse(reported) as OpenAI.ChatCompletion
  const usage = rendered.usage!
  const found: Record<string, object[]> = {
    ChatCompletion: wholes,
    'ChatCompletion.Choice': wholes.flatMap(({ choices }) => choices),
    ChatCompletionMessage: [...wholes, rendered].flatMap(({ choices }) =>
      choices.map((choice) => choice.message),
    ),
    ChatCompletionChunk: chunks,
    'ChatCompletionChunk.Choice': chunks.flatMap(({ choices }) => choices),
    'ChatCompletionChunk.Choice.Delta': deltas,
    'ChatCompletionChunk.Choice.Delta.ToolCall': calls,
    'ChatCompletionChunk.Choice.Delta.ToolCall.Function': calls.flatMap((call) => call.function ?? []),
    'ChatCompletionChunk.Choice.Logprobs': choices.flatMap(({ logprobs }) => logprobs ?? []),
    'ChatCompletion.Choice.Logprobs': wholes.flatMap(({ choices: [choice] }) => choice?.logprobs ?? []),
    ChatCompletionTokenLogprob: tokens,
    'ChatCompletionTokenLogprob.TopLogprob': tokens.flatMap((token) => token.top_logprobs),
    CompletionUsage: [usage],
    'CompletionUsage.CompletionTokensDetails': [usage.completion_tokens_details!],
    'CompletionUsage.PromptTokensDetails': [usage.prompt_tokens_details!],
  }
  for (const [type, objects] of Object.entries(found)) {
    const fields = new Set(objects.flatMap((object) => Object.keys(object)))
    for (const { field, claim } of rowsOf(type))
      expect([type, field, fields.has(field)]).toEqual([type, field, claim === 'honoured'])
  }
})
