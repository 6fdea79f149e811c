import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

/** Where a real model is asked: its server itself, or a gateway before it. */
export interface RealTarget {
  name: string
  /** With the version: `http://127.0.0.1:8080/v2`. */
  baseUrl: string
  key: string
  model: string
  embeddingsModel: string
}

export interface RealContext {
  target: RealTarget
  /** The same questions, asked of the server itself. */
  direct: RealTarget
  /** The origin of the model's server, whose slots are watched. */
  serverUrl: string
}

export interface RealCheck {
  name: string
  run: (context: RealContext) => Promise<unknown>
}

interface Message {
  role: string
  content: string
}

interface Completion {
  choices: Array<{
    message: { content: string }
    finish_reason: string
    logprobs?: { content: Array<{ token: string; logprob: number }> } | null
  }>
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}

const CONVERSATIONS = 40
/** More than the server's slots, so that some wait there. */
const AT_A_TIME = 8
const IDLE_WITHIN_MS = 10_000
const POLL_MS = 100
/** More than the server's window, in a window that the catalog says is larger. */
const TOO_LONG = 'one two three four '.repeat(700)
const QUESTION = [{ role: 'user', content: 'Name three colours.' }]
/** Greedy, so that two askings of one question are answered alike. */
const SHORT = { messages: QUESTION, max_tokens: 12, temperature: 0 }

/** What a real server does that simulated providers cannot prove, asked of each target alike. */
export const REAL_CHECKS: readonly RealCheck[] = [
  {
    name: 'whole: the text, the end and the usage of the server',
    run: async ({ target, direct }) => {
      const [told, own] = [await complete(target, SHORT), await complete(direct, SHORT)]
      assert.deepEqual(endOf(told), endOf(own))
    },
  },
  {
    name: 'stream: the same text in more than one delta, usage, [DONE]',
    run: async ({ target }) => {
      const whole = await complete(target, SHORT)
      const options = { stream: true, stream_options: { include_usage: true } }
      const { texts, usage, isDone } = await readStream(
        await post(target, 'chat/completions', { ...SHORT, ...options }),
      )
      assert.equal(texts.join(''), whole.choices[0]!.message.content)
      assert.ok(texts.length > 1, 'the text came at once')
      assert.deepEqual(countsOf(usage!), countsOf(whole.usage))
      assert.ok(isDone, 'no [DONE]')
    },
  },
  {
    name: 'stop: the text ends before it',
    run: async ({ target }) => {
      const text = (await complete(target, SHORT)).choices[0]!.message.content
      const stop = text.trim().slice(2, 6)
      const stopped = (await complete(target, { ...SHORT, stop: [stop] })).choices[0]!
      assert.equal(stopped.message.content, text.slice(0, text.indexOf(stop)))
      assert.equal(stopped.finish_reason, 'stop')
    },
  },
  {
    name: 'log probabilities: one for each token, as the server says them',
    run: async ({ target, direct }) => {
      // While text may yet be its own stop text, the server streams it later and without log probabilities.
      const body = { ...SHORT, stop: ['@@'], logprobs: true, top_logprobs: 2 }
      const [told, own] = [await complete(target, body), await complete(direct, body)]
      const tokens = ({ choices }: Completion) => choices[0]!.logprobs?.content.map(({ token }) => token)
      assert.equal(tokens(told)?.length, told.usage.completion_tokens)
      assert.deepEqual(tokens(told), tokens(own))
    },
  },
  {
    name: 'schema: the grammar makes the text valid',
    run: async ({ target }) => {
      const properties = { colour: { enum: ['red', 'green'] }, sure: { type: 'boolean' } }
      const schema = { type: 'object', properties, required: ['colour', 'sure'], additionalProperties: false }
      const format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } }
      const { choices } = await complete(target, { ...SHORT, max_tokens: 60, response_format: format })
      const { colour, sure, ...others } = JSON.parse(choices[0]!.message.content)
      assert.ok(properties.colour.enum.includes(colour) && typeof sure === 'boolean')
      assert.deepEqual(others, {})
    },
  },
  {
    name: 'embeddings: the vector of the server',
    run: async ({ target, direct }) => {
      const [told, own] = [await embed(target), await embed(direct)]
      assert.equal(told.length, own.length)
      const cosine = dot(told, own) / Math.sqrt(dot(told, told) * dot(own, own))
      assert.ok(cosine > 0.999, `cosine ${cosine}`)
    },
  },
  {
    name: 'abort: the slots of the server go idle',
    run: async ({ target, serverUrl }) => {
      const leaving = new AbortController()
      const body = { ...SHORT, max_tokens: 250, stream: true }
      const response = await post(target, 'chat/completions', body, leaving.signal)
      await response.body!.getReader().read()
      const asked = (await busySlots(serverUrl)) > 0
      leaving.abort()
      assert.ok(asked, 'the call had ended before it was aborted')
      const startedAt = performance.now()
      while ((await busySlots(serverUrl)) > 0) {
        assert.ok(performance.now() - startedAt < IDLE_WITHIN_MS, 'the server still computes')
        await delay(POLL_MS)
      }
      return `${Math.round(performance.now() - startedAt)} ms`
    },
  },
  {
    name: 'context: a prompt that does not fit is an error of the request',
    run: async ({ target, direct }) => {
      const response = await post(target, 'chat/completions', {
        ...SHORT,
        messages: [{ role: 'user', content: TOO_LONG }],
      })
      const { error } = (await response.json()) as { error: { code: unknown } }
      assert.equal(response.status, 400, JSON.stringify(error))
      if (target !== direct) assert.equal(error.code, 'context_length_exceeded')
    },
  },
  {
    name: `${CONVERSATIONS} conversations of two turns, ${AT_A_TIME} at a time`,
    run: async ({ target }) => {
      const waiting = Array.from({ length: CONVERSATIONS }, (_, at) => at)
      const work = async () => {
        for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) await converse(target, at)
      }
      await Promise.all(Array.from({ length: AT_A_TIME }, work))
    },
  },
]

async function converse(target: RealTarget, at: number): Promise<void> {
  const messages: Message[] = [{ role: 'user', content: `What comes after ${at}?` }]
  let promptTokens = 0
  for (const next of ['And after that?', 'Thanks.']) {
    const { choices, usage } = await complete(target, { ...SHORT, messages, max_tokens: 6 })
    assert.ok(usage.prompt_tokens > promptTokens, 'the second prompt has the first turn')
    assert.ok(usage.completion_tokens >= 1 && usage.completion_tokens <= 6)
    promptTokens = usage.prompt_tokens
    messages.push(
      { role: 'assistant', content: choices[0]!.message.content },
      { role: 'user', content: next },
    )
  }
}

function post(target: RealTarget, path: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${target.baseUrl}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: target.model, ...body }),
    ...(signal && { signal }),
  })
}

async function ask<Answer>(target: RealTarget, path: string, body: object): Promise<Answer> {
  const response = await post(target, path, body)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text) as Answer
}

const complete = (target: RealTarget, body: object) => ask<Completion>(target, 'chat/completions', body)

async function embed(target: RealTarget): Promise<number[]> {
  const body = { model: target.embeddingsModel, input: 'a railway yard', encoding_format: 'float' }
  const { data } = await ask<{ data: Array<{ embedding: number[] }> }>(target, 'embeddings', body)
  return data[0]!.embedding
}

async function readStream(response: Response) {
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
  const events = lines.filter((line) => line !== 'data: [DONE]').map((line) => JSON.parse(line.slice(6)))
  const texts = events.flatMap(({ choices }) => choices?.[0]?.delta?.content || [])
  const usage = events.findLast((event) => event.usage)?.usage as Completion['usage'] | undefined
  assert.ok(usage, 'no usage')
  return { texts: texts as string[], usage, isDone: lines.at(-1) === 'data: [DONE]' }
}

async function busySlots(serverUrl: string): Promise<number> {
  const slots = (await (await fetch(`${serverUrl}/slots`)).json()) as Array<{ is_processing: boolean }>
  return slots.filter((slot) => slot.is_processing).length
}

const countsOf = ({ prompt_tokens, completion_tokens }: Completion['usage']) => ({
  prompt_tokens,
  completion_tokens,
})

const endOf = ({ choices: [choice], usage }: Completion) => ({
  text: choice!.message.content,
  finish: choice!.finish_reason,
  usage: countsOf(usage),
})

const dot = (one: readonly number[], other: readonly number[]) =>
  one.reduce((sum, value, at) => sum + value * other[at]!, 0)
