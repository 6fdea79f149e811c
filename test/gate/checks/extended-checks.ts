import assert from 'node:assert/strict'
import { ask, type Check, expectError, type GateContext } from '../check.ts'
import { AS_REAL_MODELS } from '../gate-models.ts'
import { TOOL_ARGUMENTS, TOOL_BODY } from './chat-answer-checks.ts'
import { bearerKeyOnly, errorsTold, expectNothingHidden, fieldsRefused, limitsTold } from './common-checks.ts'

const PATH = '/v2/chat/completions'
const BODY = {
  model: 'gate/plain',
  messages: [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'Tell me about rail yards.' },
  ],
}

interface Usage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number }
  cost: number
  cost_usd: string
}

interface ToolCall {
  id: string
  function: { name: string; arguments: string }
}

interface Completion {
  id: string
  model: string
  choices: Array<{
    message: { role: string; content: string | null; tool_calls?: ToolCall[] }
    logprobs: unknown
    finish_reason: string
  }>
  usage: Usage
}

interface Chunk {
  choices: Array<{
    delta: { content?: string; tool_calls?: Array<{ index: number } & Partial<ToolCall>> }
    finish_reason: string | null
  }>
  usage?: Usage
  error?: { code: string; message: string }
}

async function completionOf(context: GateContext, body: object): Promise<Completion> {
  const answer = await ask(context, PATH, { body })
  assert.equal(answer.status, 200, answer.text)
  expectNothingHidden(answer)
  return answer.json as Completion
}

async function streamOf(context: GateContext, body: object): Promise<{ chunks: Chunk[]; isDone: boolean }> {
  const answer = await ask(context, PATH, { body: { ...body, stream: true } })
  assert.equal(answer.status, 200, answer.text)
  expectNothingHidden(answer)
  const events = answer.text.split('\n\n')
  assert.equal(events.pop(), '', 'the last event ends')
  const data = events.filter((event) => !event.startsWith(':'))
  for (const event of data) assert.match(event, /^data: [^\n]*$/)
  const isDone = data.at(-1) === 'data: [DONE]'
  const chunks = (isDone ? data.slice(0, -1) : data).map((event) => JSON.parse(event.slice(6)) as Chunk)
  return { chunks, isDone }
}

const exactPath = async (context: GateContext) => {
  await completionOf(context, BODY)
  expectError(await ask(context, PATH, { method: 'GET' }), 'method_not_allowed', 405)
  for (const path of ['/v2/chat', `${PATH}/more`, '/v2/completions'])
    expectError(await ask(context, path, { body: BODY }), 'surface_unavailable', 404)
}

const USER = { role: 'user', content: 'x' }
/** Bodies that are refused, and the parameter that the answer names. */
const REFUSED: ReadonlyArray<readonly [body: unknown, param: string]> = [
  [{ model: 'gate/plain' }, 'messages'],
  [{ ...BODY, n: 2 }, 'n'],
  [
    { ...BODY, messages: [USER, { role: 'tool', tool_call_id: 'call_1', content: 'x' }] },
    'messages[1].tool_call_id',
  ],
  [{ ...BODY, tool_choice: { type: 'function', function: { name: 'none' } } }, 'tool_choice'],
  [{ ...BODY, presence_penalty: 9 }, 'presence_penalty'],
  [{ ...BODY, top_logprobs: 2 }, 'top_logprobs'],
]

const requiredFields = async (context: GateContext) => {
  await fieldsRefused(PATH, REFUSED)(context)
  const unmet = await ask(context, PATH, { body: { ...BODY, model: 'gate/native', logprobs: true } })
  assert.equal(expectError(unmet, 'unsupported_shape', 422).param, 'logprobs')
}

const HONOURED = { stop: ['zebra'], seed: 7, presence_penalty: 0.5 }

const fields = async (context: GateContext) => {
  const plain = await completionOf(context, BODY)
  const { choices } = await completionOf(context, { ...BODY, ...HONOURED, unheard_of: [null] })
  assert.deepEqual(choices, plain.choices)
  const [forwarded] = context.received('words-12.tag-gate').slice(-1) as [Record<string, unknown>]
  for (const [name, value] of Object.entries(HONOURED))
    assert.deepEqual(forwarded[name], value, `${name} is forwarded`)
  assert.ok(!('unheard_of' in forwarded), 'an unknown field is forwarded')
}

const envelope = async (context: GateContext) => {
  const { id, model, choices, usage } = await completionOf(context, BODY)
  assert.match(id, /^chatcmpl_/)
  assert.equal(model, 'gate/plain')
  assert.equal(choices.length, 1)
  const [{ message, logprobs, finish_reason: reason } = assert.fail('no choice')] = choices
  assert.equal(message.role, 'assistant')
  assert.match(message.content ?? '', /\w/)
  assert.equal(logprobs, null)
  assert.equal(reason, 'stop')
  assert.match(usage.cost_usd, /^\d+(\.\d+)?$/)
  assert.equal(usage.cost, Number(usage.cost_usd))
  const measured = await completionOf(context, { ...BODY, logprobs: true, top_logprobs: 1 })
  const { content } = measured.choices[0]!.logprobs as { content: Array<{ token: string; logprob: number }> }
  assert.equal(content.map(({ token }) => token).join(''), measured.choices[0]!.message.content)
}

const stream = async (context: GateContext) => {
  const { chunks, isDone } = await streamOf(context, BODY)
  assert.ok(isDone, 'a whole stream ends with [DONE]')
  const content = chunks.map(({ choices }) => choices[0]!.delta.content ?? '').join('')
  assert.equal(content, (await completionOf(context, BODY)).choices[0]!.message.content)
  const withUsage = chunks.filter(({ usage }) => usage !== undefined)
  assert.deepEqual(withUsage, chunks.slice(-1), 'usage is in the last chunk where nobody asks for its own')
  const refused = await streamOf(context, { ...BODY, stream_options: { include_usage: false } })
  assert.ok(
    refused.chunks.every(({ usage }) => usage === undefined),
    'usage that was refused',
  )
  for (const model of AS_REAL_MODELS) {
    const written = await streamOf(context, { ...BODY, model })
    assert.ok(written.isDone, `the stream of ${model} ends with [DONE]`)
    assert.equal(
      written.chunks.map(({ choices }) => choices[0]!.delta.content ?? '').join(''),
      content,
      model,
    )
    assert.equal(written.chunks.at(-1)?.choices[0]?.finish_reason, 'stop', model)
  }
  const failed = await streamOf(context, { ...BODY, model: 'gate/tool-error' })
  assert.match(failed.chunks.at(-1)?.error?.message ?? '', /tool_use_failed/)
  const broken = await streamOf(context, { ...BODY, model: 'gate/cut' })
  assert.ok(!broken.isDone, 'a broken stream ends without [DONE]')
  assert.match(broken.chunks.at(-1)?.error?.code ?? '', /\w/)
}

const toolLoop = async (context: GateContext) => {
  const calledOf = async (model: string) => {
    const { chunks } = await streamOf(context, { ...TOOL_BODY, model })
    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    const [{ id } = assert.fail('no delta of a tool call')] = deltas
    assert.ok(
      deltas.slice(1).every((delta) => delta.id === undefined && delta.index === 0),
      model,
    )
    const written = deltas.map((delta) => delta.function?.arguments ?? '').join('')
    assert.deepEqual(JSON.parse(written), TOOL_ARGUMENTS, model)
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'tool_calls', model)
    return { id, written }
  }
  for (const model of AS_REAL_MODELS) await calledOf(model)
  const { id, written } = await calledOf('gate/plain')
  const call = { id, type: 'function', function: { name: 'find_train', arguments: written } }
  const history = [
    ...TOOL_BODY.messages,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: id, content: 'The train leaves at noon' },
  ]
  const { choices } = await completionOf(context, { ...TOOL_BODY, messages: history })
  assert.equal(choices[0]!.finish_reason, 'stop')
  assert.match(choices[0]!.message.content ?? '', /leaves at noon/)
}

const usage = async (context: GateContext) => {
  const whole = await completionOf(context, BODY)
  const {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
    cost_usd: cost,
  } = whole.usage
  assert.equal(total, prompt + completion)
  const { chunks } = await streamOf(context, { ...BODY, stream_options: { include_usage: true } })
  const last = chunks.at(-1)!
  assert.deepEqual(last.choices, [])
  assert.deepEqual(last.usage, whole.usage)
  for (const model of ['gate/real-late-cache', 'gate/real-native-late-cache']) {
    const { usage: cached } = await completionOf(context, { ...BODY, model })
    assert.ok(cached.prompt_tokens_details.cached_tokens > 0, `${model} counts what its last event says`)
  }
  const settled = await ask(context, `/v1/generations/${whole.id}`, { method: 'GET' })
  assert.equal(settled.status, 200, settled.text)
  const record = settled.json as { usage: Record<string, number>; cost_usd: string }
  assert.equal(record.usage.completion_tokens, completion)
  assert.equal(record.cost_usd, cost, 'the cost that was told is charged')
}

/** What the extended contract has to keep, apart from the agents that run on it. */
export const EXTENDED_CHECKS: readonly Check[] = [
  { name: 'path of the extended contract', subject: 'exact path', run: exactPath },
  { name: 'bearer key for extended calls', subject: 'auth header', run: bearerKeyOnly(PATH, BODY) },
  { name: 'refusals that name the field', subject: 'required fields', run: requiredFields },
  { name: 'known fields forwarded, others ignored', subject: 'ignored fields', run: fields },
  { name: 'extended completion', subject: 'non-stream envelope', run: envelope },
  { name: 'extended events to [DONE]', subject: 'streaming protocol', run: stream },
  { name: 'a call of a tool and its result', subject: 'tool-call deltas', run: toolLoop },
  { name: 'usage and cost as charged', subject: 'usage', run: usage },
  {
    name: 'errors of extended calls',
    subject: 'errors',
    run: errorsTold(PATH, BODY, { unknown: ['gate/none'], failing: 'gate/extended-failing' }),
  },
  { name: 'limits of extended calls', subject: 'rate limits', run: limitsTold(PATH, BODY) },
]
