import assert from 'node:assert/strict'
import { Ajv } from 'ajv'
import type { Static } from 'typebox'
import { ChatCompletionBody } from '../../../src/core/api/completions/chat-completion.ts'
import { type Answer, ask, type Check, type GateContext } from '../check.ts'
import { CHAT_BODY, CHAT_PATH } from './chat-request-checks.ts'
import { expectNothingHidden } from './common-checks.ts'

type ChatCompletion = Static<typeof ChatCompletionBody>

interface Chunk {
  id: string
  object: string
  created: number
  model: string
  choices: Array<{
    index: number
    delta: {
      role?: string
      content?: string
      tool_calls?: Array<{ index: number; id?: string; type?: string; function?: Record<string, string> }>
    }
    finish_reason: string | null
  }>
  usage?: ChatCompletion['usage']
  error?: { code: string }
}

export const TOOL_BODY = {
  model: 'gate/plain',
  messages: [{ role: 'user', content: 'Use find_train to "Basel" from platform 7.' }],
  tools: [
    {
      type: 'function',
      function: {
        name: 'find_train',
        description: 'Finds a train.',
        parameters: {
          type: 'object',
          properties: { town: { type: 'string' }, platform: { type: 'integer' } },
          required: ['town', 'platform'],
        },
      },
    },
  ],
}
export const TOOL_ARGUMENTS = { town: 'Basel', platform: 7 }

const isCompletion = new Ajv().compile<ChatCompletion>(ChatCompletionBody)
const TOP_FIELDS = ['choices', 'created', 'id', 'model', 'object', 'usage']

async function completionOf(context: GateContext, body: object): Promise<ChatCompletion> {
  const answer = await ask(context, CHAT_PATH, { body })
  const { status, headers, text, json } = answer
  assert.equal(status, 200, text)
  assert.match(headers.get('content-type') ?? '', /^application\/json/)
  assert.ok(isCompletion(json), `not as described: ${JSON.stringify(isCompletion.errors)}`)
  assert.deepEqual(Object.keys(json).sort(), TOP_FIELDS)
  expectNothingHidden(answer)
  return json
}

const envelope = async (context: GateContext) => {
  const { choices, model } = await completionOf(context, CHAT_BODY)
  assert.equal(model, 'gate/plain')
  assert.equal(choices.length, 1)
  assert.deepEqual(Object.keys(choices[0]!).sort(), ['finish_reason', 'index', 'message'])
  assert.equal(choices[0]!.finish_reason, 'stop')
  assert.match(choices[0]!.message.content ?? '', /\w/)
  assert.equal(
    (await completionOf(context, { ...CHAT_BODY, model: 'gate/plain:nitro' })).model,
    'gate/plain:nitro',
  )
  assert.equal((await completionOf(context, { ...CHAT_BODY, model: undefined })).model, 'auto')
  const { model: served } = await completionOf(context, {
    ...CHAT_BODY,
    model: undefined,
    models: ['gate/failing', 'gate/plain'],
  })
  assert.equal(served, 'gate/plain')
}

/** Reads data-only events strictly; comments are allowed, everything else is not. */
function readEvents({ status, headers, text }: Answer): { chunks: Chunk[]; isDone: boolean } {
  assert.equal(status, 200, text)
  assert.match(headers.get('content-type') ?? '', /^text\/event-stream/)
  const events = text.split('\n\n')
  assert.equal(events.pop(), '', 'the last event ends')
  const data = events.filter((event) => !event.startsWith(':'))
  for (const event of data) assert.match(event, /^data: [^\n]*$/)
  const isDone = data.at(-1) === 'data: [DONE]'
  return {
    isDone,
    chunks: (isDone ? data.slice(0, -1) : data).map(
      (event) => JSON.parse(event.slice('data: '.length)) as Chunk,
    ),
  }
}

async function streamOf(context: GateContext, body: object): Promise<Chunk[]> {
  const answer = await ask(context, CHAT_PATH, { body: { ...body, stream: true } })
  const { chunks, isDone } = readEvents(answer)
  assert.ok(isDone, 'a whole stream ends with [DONE]')
  expectNothingHidden(answer)
  for (const { id, object, created, model, choices } of chunks) {
    assert.deepEqual(
      [id, object, created, model],
      [chunks[0]!.id, 'chat.completion.chunk', chunks[0]!.created, 'gate/plain'],
    )
    assert.equal(choices.length, 1)
    assert.equal(choices[0]!.index, 0)
  }
  assert.match(chunks[0]!.id, /^chatcmpl_/)
  assert.equal(chunks[0]!.choices[0]!.delta.role, 'assistant')
  const finishes = chunks.flatMap(({ choices }) => choices[0]!.finish_reason ?? [])
  assert.equal(finishes.length, 1, 'one chunk has the finish reason')
  assert.equal(chunks.at(-1)!.choices[0]!.finish_reason, finishes[0])
  return chunks
}

const stream = async (context: GateContext) => {
  const [chunks, whole] = [await streamOf(context, CHAT_BODY), await completionOf(context, CHAT_BODY)]
  const content = chunks.map(({ choices }) => choices[0]!.delta.content ?? '').join('')
  assert.equal(content, whole.choices[0]!.message.content)
  assert.equal(chunks.at(-1)!.choices[0]!.finish_reason, 'stop')
  const broken = readEvents(
    await ask(context, CHAT_PATH, { body: { ...CHAT_BODY, model: 'gate/cut', stream: true } }),
  )
  assert.ok(!broken.isDone, 'a broken stream ends without [DONE]')
  assert.equal(broken.chunks.at(-1)?.choices[0]?.finish_reason, 'error')
  assert.match(broken.chunks.at(-1)?.error?.code ?? '', /\w/)
}

const toolCalls = async (context: GateContext) => {
  const chunks = await streamOf(context, TOOL_BODY)
  const deltas = chunks.flatMap(({ choices }) => choices[0]!.delta.tool_calls ?? [])
  assert.ok(deltas.length > 0, 'there are deltas of a tool call')
  assert.ok(deltas.every(({ index }) => index === 0))
  assert.match(deltas[0]!.id ?? '', /\w/)
  assert.equal(deltas[0]!.type, 'function')
  assert.equal(deltas[0]!.function?.name, 'find_train')
  const written = deltas.map((delta) => delta.function?.arguments ?? '').join('')
  assert.deepEqual(JSON.parse(written), TOOL_ARGUMENTS)
  assert.equal(chunks.at(-1)!.choices[0]!.finish_reason, 'tool_calls')
  const [choice] = (await completionOf(context, TOOL_BODY)).choices
  assert.equal(choice!.finish_reason, 'tool_calls')
  const [call, ...others] = choice!.message.tool_calls ?? []
  assert.deepEqual(others, [])
  assert.equal(call?.function.name, 'find_train')
  assert.deepEqual(JSON.parse(call?.function.arguments ?? ''), TOOL_ARGUMENTS)
}

const usage = async (context: GateContext) => {
  const whole = await completionOf(context, CHAT_BODY)
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = whole.usage!
  assert.ok(prompt > 0 && completion > 0)
  assert.equal(total, prompt + completion)
  const chunks = await streamOf(context, CHAT_BODY)
  assert.deepEqual(
    chunks.flatMap((chunk) => chunk.usage ?? []),
    [whole.usage],
    'once, in the last chunk of a stream',
  )
  assert.deepEqual(chunks.at(-1)!.usage, whole.usage)
  const settled = await ask(context, `/v1/generations/${whole.id}`, { method: 'GET' })
  assert.equal(settled.status, 200, settled.text)
  const { usage: recorded } = settled.json as { usage: Record<string, number> }
  assert.equal(recorded.prompt_tokens, prompt)
  assert.equal(recorded.completion_tokens, completion)
}

/** What the answer of a chat completion has to be. */
export const CHAT_ANSWER_CHECKS: readonly Check[] = [
  { name: 'envelope of a whole answer', subject: 'non-stream envelope', run: envelope },
  { name: 'data-only events to [DONE]', subject: 'streaming protocol', run: stream },
  { name: 'deltas of a tool call', subject: 'tool-call deltas', run: toolCalls },
  { name: 'usage told, streamed and recorded', subject: 'usage', run: usage },
]
