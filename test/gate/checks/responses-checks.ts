import assert from 'node:assert/strict'
import OpenAI, { NotFoundError } from 'openai'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { VERSION } from 'openai/version'
import { ask, type Check, expectError, type GateContext } from '../check.ts'
import { TOOL_ARGUMENTS } from './chat-answer-checks.ts'
import { bearerKeyOnly, errorsTold, expectNothingHidden, fieldsRefused, limitsTold } from './common-checks.ts'

const PATH = '/v1/responses'
const BODY = { model: 'gate/plain', input: 'Tell me about rail yards.' }
const TOOL_BODY = {
  ...BODY,
  input: 'Use find_train to "Basel" from platform 7.',
  tools: [
    {
      type: 'function' as const,
      name: 'find_train',
      parameters: {
        type: 'object',
        properties: { town: { type: 'string' }, platform: { type: 'integer' } },
      },
      strict: false,
    },
  ],
}

async function responseOf(context: GateContext, body: object): Promise<Response> {
  const answer = await ask(context, PATH, { body })
  assert.equal(answer.status, 200, answer.text)
  expectNothingHidden(answer)
  return answer.json as Response
}

/** Events of a stream; each names the type that its data has. */
async function eventsOf(context: GateContext, body: object): Promise<ResponseStreamEvent[]> {
  const answer = await ask(context, PATH, { body: { ...body, stream: true } })
  assert.equal(answer.status, 200, answer.text)
  expectNothingHidden(answer)
  const events = answer.text.split('\n\n').filter((event) => event !== '' && !event.startsWith(':'))
  return events.map((event, index) => {
    const [, name, data] = event.match(/^event: ([\w.]+)\ndata: ([^\n]*)$/) ?? []
    const parsed = JSON.parse(data ?? 'null') as ResponseStreamEvent
    assert.equal(parsed?.type, name)
    assert.equal(parsed.sequence_number, index)
    return parsed
  })
}

const textOf = ({ output }: Response): string =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('')

const exactPath = async (context: GateContext) => {
  await responseOf(context, BODY)
  expectError(await ask(context, PATH, { method: 'GET' }), 'method_not_allowed', 405)
  for (const [method, path] of [
    ['GET', `${PATH}/resp_1`],
    ['DELETE', `${PATH}/resp_1`],
    ['POST', `${PATH}/resp_1/cancel`],
  ] as const)
    expectError(await ask(context, path, { method }), 'not_found', 404)
}

/** What cannot be done is refused, and not ignored. */
const REFUSED: ReadonlyArray<readonly [body: unknown, param: string]> = [
  [{ model: BODY.model }, 'input'],
  [{ ...BODY, store: 'yes' }, 'store'],
  [{ ...BODY, previous_response_id: 7 }, 'previous_response_id'],
  [{ ...BODY, background: true, store: false }, 'store'],
  [{ ...BODY, tools: [{ type: 'unheard_of' }] }, 'tools[0].type'],
  [{ ...BODY, tool_choice: { type: 'web_search' } }, 'tool_choice'],
]

const ignoredFields = async (context: GateContext) => {
  const plain = await responseOf(context, BODY)
  assert.equal(textOf(await responseOf(context, { ...BODY, unheard_of: [null] })), textOf(plain))
  const [forwarded] = context.received('words-12.tag-gate').slice(-1) as [Record<string, unknown>]
  assert.ok(!('unheard_of' in forwarded), 'an unknown field is forwarded')
  const { headers } = await ask(context, PATH, { body: { ...BODY, tools: [{ type: 'web_search' }] } })
  assert.equal(headers.get('x-ignored-parameters'), 'tools[0] (web_search)')
}

const envelope = async (context: GateContext) => {
  const response = await responseOf(context, { ...BODY, store: false, max_output_tokens: 100 })
  const {
    object,
    status,
    model,
    store,
    max_output_tokens: limit,
    error,
  } = response as Response & { store: unknown }
  const told = { object, status, model, store, limit, error }
  assert.deepEqual(told, {
    object: 'response',
    status: 'completed',
    model: 'gate/plain',
    store: false,
    limit: 100,
    error: null,
  })
  assert.match(response.id, /^resp_/)
  assert.match(textOf(response), /\w/)
  const cut = await responseOf(context, { ...BODY, max_output_tokens: 3 })
  assert.equal(cut.status, 'incomplete')
  assert.equal(cut.incomplete_details?.reason, 'max_output_tokens')
}

const stream = async (context: GateContext) => {
  const events = await eventsOf(context, BODY)
  assert.equal(events[0]?.type, 'response.created')
  const last = events.at(-1)!
  assert.ok(last.type === 'response.completed')
  const written = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''))
  assert.equal(written.join(''), textOf(last.response))
  assert.equal(written.join(''), textOf(await responseOf(context, BODY)))
  const broken = await eventsOf(context, { ...BODY, model: 'gate/cut' })
  assert.equal(broken.at(-1)?.type, 'response.failed')
  assert.ok(!broken.some(({ type }) => type === 'response.completed'), 'a broken response is completed')
}

const toolCalls = async (context: GateContext) => {
  const events = await eventsOf(context, TOOL_BODY)
  const written = events.map((event) =>
    event.type === 'response.function_call_arguments.delta' ? event.delta : '',
  )
  assert.deepEqual(JSON.parse(written.join('')), TOOL_ARGUMENTS)
  const last = events.at(-1)!
  assert.ok(last.type === 'response.completed')
  const call = last.response.output.find((item) => item.type === 'function_call')
  assert.equal(call?.name, 'find_train')
  const result = { type: 'function_call_output', call_id: call.call_id, output: 'The train leaves at noon' }
  const input = [{ role: 'user', content: TOOL_BODY.input }, ...last.response.output, result]
  assert.match(textOf(await responseOf(context, { ...TOOL_BODY, input })), /leaves at noon/)
}

const usage = async (context: GateContext) => {
  const { id, usage: told } = await responseOf(context, BODY)
  assert.equal(told!.total_tokens, told!.input_tokens + told!.output_tokens)
  const { json, status, text } = await ask(context, `/v1/generations/${id}`, { method: 'GET' })
  assert.equal(status, 200, text)
  const record = json as { usage: Record<string, number>; cost_usd: string }
  assert.equal(record.usage.prompt_tokens, told!.input_tokens)
  assert.equal(record.usage.completion_tokens, told!.output_tokens)
  assert.equal(record.cost_usd, (told as unknown as { cost_usd: string }).cost_usd)
}

const state = async (context: GateContext) => {
  const first = await responseOf(context, { ...BODY, metadata: { ticket: '17' } })
  const { store: isStored, metadata } = first as Response & { store: unknown }
  assert.deepEqual([isStored, metadata], [true, { ticket: '17' }])
  const next = await responseOf(context, { ...BODY, input: 'Go on.', previous_response_id: first.id })
  assert.equal(next.previous_response_id, first.id)
  const forwarded = context.received('words-12.tag-gate') as { messages: unknown[] }[]
  const isContinued = forwarded.some(
    ({ messages }) => messages.length === 3 && /Go on\./.test(JSON.stringify(messages)),
  )
  assert.ok(isContinued, 'the earlier turn is lost')
  const resource = async (method: 'GET' | 'DELETE', path = '') => {
    const { json } = await ask(context, `${PATH}/${next.id}${path}`, { method })
    return json as Record<string, unknown>
  }
  assert.deepEqual(await resource('GET'), next)
  assert.equal(
    (await resource('GET', '/input_items')).last_id,
    `in_0_${next.id.replace('resp_', 'chatcmpl_')}`,
  )
  assert.equal((await resource('DELETE')).deleted, true)
  expectError(await ask(context, `${PATH}/${next.id}`, { method: 'GET' }), 'not_found', 404)
}

const clientLibrary = async (context: GateContext) => {
  const { url, key, fetch } = context
  const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0, logLevel: 'off', fetch })
  const whole = await client.responses.create(BODY)
  assert.match(whole.output_text, /\w/)
  const final = await client.responses.stream(TOOL_BODY).finalResponse()
  const [call] = final.output.filter((item) => item.type === 'function_call')
  assert.deepEqual(JSON.parse(call?.arguments ?? ''), TOOL_ARGUMENTS)
  const { id } = whole
  assert.equal((await client.responses.retrieve(id)).output_text, whole.output_text)
  const replayed: string[] = []
  for await (const { type } of await client.responses.retrieve(id, { stream: true })) replayed.push(type)
  assert.equal(replayed.at(-1), 'response.completed')
  assert.equal((await client.responses.inputItems.list(id)).data.length, 1)
  await client.responses.delete(id)
  await assert.rejects(client.responses.retrieve(id), NotFoundError)
  const begun = await client.responses.create({ ...BODY, background: true })
  assert.equal((await client.responses.cancel(begun.id)).id, begun.id)
  // The library for Python sends the content type of a body with every method, also without one.
  const remove = { method: 'DELETE', headers: { 'content-type': 'application/json' } } as const
  const removed = await ask(context, `${PATH}/${begun.id}`, remove)
  assert.equal(removed.status, 200, removed.text)
  const none = client.responses.create({ ...BODY, model: 'gate/none' })
  await assert.rejects(none.asResponse(), NotFoundError)
  return `openai ${VERSION}`
}

/** What a response has to be, and what is kept of it. */
export const RESPONSES_CHECKS: readonly Check[] = [
  { name: 'path of responses', subject: 'exact path', run: exactPath },
  { name: 'bearer key for responses', subject: 'auth header', run: bearerKeyOnly(PATH, BODY) },
  { name: 'refusals of responses', subject: 'required fields', run: fieldsRefused(PATH, REFUSED) },
  { name: 'unknown fields of a response', subject: 'ignored fields', run: ignoredFields },
  { name: 'response object', subject: 'non-stream envelope', run: envelope },
  { name: 'typed events to response.completed', subject: 'streaming protocol', run: stream },
  { name: 'deltas of a function call', subject: 'tool-call deltas', run: toolCalls },
  { name: 'stored responses', subject: 'non-stream envelope', run: state },
  { name: 'usage and cost of a response', subject: 'usage', run: usage },
  {
    name: 'errors of responses',
    subject: 'errors',
    run: errorsTold(PATH, BODY, { unknown: ['gate/none'], failing: 'gate/extended-failing' }),
  },
  { name: 'limits of responses', subject: 'rate limits', run: limitsTold(PATH, BODY) },
  { name: 'responses by openai for Node', subject: 'client libraries', run: clientLibrary },
]
