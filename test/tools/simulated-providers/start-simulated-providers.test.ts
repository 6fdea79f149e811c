import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type SimulatedProviders,
  startSimulatedProviders,
} from '../../../tools/simulated-providers/start-simulated-providers.ts'
import { callProvider, eventsOf, textOf, type WireCall } from './wire-client.ts'

let providers: SimulatedProviders
const call = (options: Omit<WireCall, 'url'>) => callProvider({ url: providers.url, ...options })

beforeAll(async () => {
  providers = await startSimulatedProviders()
})
afterAll(() => providers.close())

describe('a held answer', () => {
  test('begins when it is released, and holds no later one', async () => {
    let isAnswered = false
    const first = call({ model: 'sim-words-5.held' }).finally(() => {
      isAnswered = true
    })
    await providers.log.arrived(({ model }) => model === 'sim-words-5.held')
    await call({ model: 'sim-words-5' })
    expect(isAnswered).toBe(false)
    providers.release()
    expect(textOf((await first).text).split(' ')).toHaveLength(5)
    const later = call({ model: 'sim-words-6.held' })
    await providers.log.arrived(({ model }) => model === 'sim-words-6.held')
    providers.release()
    expect((await later).complete).toBe(true)
  })

  test('streams its first tokens before', async () => {
    const begun = Promise.withResolvers<void>()
    let heard = ''
    const asking = call({
      model: 'sim-words-6.held-2',
      onText: (text) => {
        heard = text
        if (textOf(text.slice(0, text.lastIndexOf('\n\n'))) !== '') begun.resolve()
      },
    })
    await begun.promise
    const wordsOf = (text: string) => textOf(text).trim().split(' ')
    expect(wordsOf(heard)).toHaveLength(2)
    providers.release()
    expect(wordsOf((await asking).text)).toHaveLength(6)
  })
})

describe('healthy answers', () => {
  test('a stream is role, tokens, finish reason, usage and [DONE], as data-only events', async () => {
    const reply = await call({ model: 'sim-words-20' })
    expect(reply.status).toBe(200)
    expect(reply.headers['content-type']).toContain('text/event-stream')
    const events = eventsOf(reply.text)
    expect(events[0]!.choices[0].delta).toEqual({ role: 'assistant', content: '' })
    expect(textOf(reply.text).split(' ')).toHaveLength(20)
    expect(events.at(-2)!.choices[0].finish_reason).toBe('stop')
    expect(events.at(-1)!.usage).toMatchObject({ completion_tokens: 20 })
    expect(reply.text.endsWith('data: [DONE]\n\n')).toBe(true)
    expect(reply.complete).toBe(true)
  })

  test('the same prompt gives the same text and usage, streamed or not, at every provider', async () => {
    const streamed = await call({ model: 'sim-words-40', prompt: 'What is a queue?' })
    const whole = await call({
      model: 'sim-words-40',
      prompt: 'What is a queue?',
      provider: 'beta',
      body: { stream: false },
    })
    const completion = JSON.parse(whole.text)
    expect(completion.choices[0].message.content).toBe(textOf(streamed.text))
    expect(completion.usage).toEqual(eventsOf(streamed.text).at(-1)!.usage)
  })

  test('different-text differs between providers', async () => {
    const model = 'sim-words-40.different-text'
    const [alpha, beta] = await Promise.all([call({ model }), call({ model, provider: 'beta' })])
    expect(textOf(alpha.text)).not.toBe(textOf(beta.text))
  })

  test('a completion limit in either field cuts the answer with finish_reason length', async () => {
    for (const field of ['max_tokens', 'max_completion_tokens']) {
      const reply = await call({ model: 'sim-words-40', body: { [field]: 5 } })
      expect(textOf(reply.text).split(' ')).toHaveLength(5)
      expect(eventsOf(reply.text).at(-2)!.choices[0].finish_reason).toBe('length')
    }
  })

  test('echo gives back the prompt, multi-byte characters included', async () => {
    const prompt = 'Grüße an 漢字 🎉 und  zwei Leerzeichen\nneue Zeile'
    const reply = await call({ model: 'sim-echo', prompt })
    expect(textOf(reply.text)).toBe(prompt)
  })

  test('a tool that the prompt names is called with arguments that fit its schema', async () => {
    const parameters = {
      type: 'object',
      properties: {
        city: { type: 'string' },
        unit: { enum: ['celsius', 'fahrenheit'] },
        days: { type: 'integer' },
      },
    }
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }]
    const prompt = 'Use get_weather for "Oslo", 3 days'
    const whole = await call({ model: 'sim-words-20', prompt, body: { tools, stream: false } })
    const { message, finish_reason: finishReason } = JSON.parse(whole.text).choices[0]
    expect(finishReason).toBe('tool_calls')
    expect(message.tool_calls[0].function.name).toBe('get_weather')
    expect(JSON.parse(message.tool_calls[0].function.arguments)).toEqual({
      city: 'Oslo',
      unit: 'celsius',
      days: 3,
    })

    const streamed = await call({ model: 'sim-words-20', prompt, body: { tools } })
    const deltas = eventsOf(streamed.text).flatMap((event) => event.choices[0]?.delta.tool_calls ?? [])
    expect(deltas.map((delta) => delta.function.arguments).join('')).toBe(
      message.tool_calls[0].function.arguments,
    )
    const unasked = await call({ model: 'sim-words-20', prompt: 'Hello', body: { tools } })
    expect(textOf(unasked.text)).not.toBe('')
  })

  test('response_format gives JSON that fits the schema, and broken-json breaks it', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' }, count: { type: 'number' } } }
    const body = {
      stream: false,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    }
    const whole = await call({ model: 'sim-words-20', prompt: 'Make "Ada" 7', body })
    const content = JSON.parse(whole.text).choices[0].message.content
    expect(JSON.parse(content)).toEqual({ name: 'Ada', count: 7 })
    const broken = await call({ model: 'sim-broken-json', prompt: 'Make "Ada" 7', body })
    expect(() => JSON.parse(JSON.parse(broken.text).choices[0].message.content)).toThrow()
  })

  test('prefill continues exactly where the assistant message ends', async () => {
    const whole = textOf((await call({ model: 'sim-words-30' })).text)
    const start = whole.slice(0, 41)
    const body = {
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: start },
      ],
    }
    const rest = await call({ model: 'sim-words-30.prefill', body })
    expect(start + textOf(rest.text)).toBe(whole)
  })

  test('reasoning comes before the text and counts as completion tokens', async () => {
    const reply = await call({ model: 'sim-reasoning-10.words-5' })
    const deltas = eventsOf(reply.text).map((event) => event.choices[0]?.delta ?? {})
    expect(deltas.filter((delta) => delta.reasoning_content)).toHaveLength(10)
    expect(eventsOf(reply.text).at(-1)!.usage.completion_tokens).toBe(15)
  })

  test('an unknown model name is a 404, never a healthy answer', async () => {
    expect((await call({ model: 'sim-wrods-20' })).status).toBe(404)
  })
})

describe('faults of the whole response', () => {
  test.each([
    ['sim-status-429-retry-2', 429, '2'],
    ['sim-status-429', 429, undefined],
    ['sim-status-408', 408, undefined],
    ['sim-status-500', 500, undefined],
    ['sim-status-503', 503, undefined],
    ['sim-status-400', 400, undefined],
    ['sim-status-401', 401, undefined],
    ['sim-status-402', 402, undefined],
    ['sim-status-403', 403, undefined],
    ['sim-status-404', 404, undefined],
    ['sim-fail-on-alpha', 503, undefined],
  ])('%s answers %i with an error body', async (model, status, retryAfter) => {
    const reply = await call({ model })
    expect(reply.status).toBe(status)
    expect(reply.headers['retry-after']).toBe(retryAfter)
    expect(JSON.parse(reply.text).error.message).toContain('alpha')
  })

  test('the two special 400s carry their codes', async () => {
    const context = JSON.parse((await call({ model: 'sim-status-400-context' })).text)
    expect(context.error.code).toBe('context_length_exceeded')
    const policy = JSON.parse((await call({ model: 'sim-status-400-policy' })).text)
    expect(policy.error.code).toBe('content_policy_violation')
    expect((await call({ model: 'sim-context-20', body: { max_tokens: 40 } })).status).toBe(400)
  })

  test('reset breaks the connection before any answer', async () => {
    await expect(call({ model: 'sim-reset' })).rejects.toThrow(/ECONNRESET|socket hang up/)
  })

  test('200 answers that are no completions', async () => {
    const error = await call({ model: 'sim-error-body-200' })
    expect([error.status, JSON.parse(error.text).error.type]).toEqual([200, 'server_error'])
    const html = await call({ model: 'sim-html-200' })
    expect([html.status, html.headers['content-type']]).toEqual([200, 'text/html'])
  })

  test('hang never answers, and the provider notices that its client left', async () => {
    const abort = new AbortController()
    const failed = call({ model: 'sim-hang.tag-abort', signal: abort.signal })
    await providers.log.arrived((request) => request.model === 'sim-hang.tag-abort')
    abort.abort()
    await expect(failed).rejects.toThrow('abort')
    await providers.log.abortedBy((request) => request.model === 'sim-hang.tag-abort')
  })

  test('slow headers arrive whole in the end, followed by a whole answer', async () => {
    const reply = await call({ model: 'sim-slow-headers-100.words-10' })
    expect(reply.status).toBe(200)
    expect(textOf(reply.text).split(' ')).toHaveLength(10)
  })

  test('fail-on-provider leaves the other provider healthy', async () => {
    const reply = await call({ model: 'sim-fail-on-alpha', provider: 'beta' })
    expect(reply.status).toBe(200)
  })

  test('flaky fails its first calls and every fails each Nth', async () => {
    const statuses = async (model: string, calls: number) => {
      const seen = []
      for (let index = 0; index < calls; index++) seen.push((await call({ model })).status)
      return seen
    }
    expect(await statuses('sim-flaky-2', 4)).toEqual([500, 500, 200, 200])
    expect(await statuses('sim-flaky-1-status-429', 2)).toEqual([429, 200])
    expect(await statuses('sim-every-3-status-503', 6)).toEqual([200, 200, 503, 200, 200, 503])
  })
})

describe('faults inside a stream', () => {
  test('cut-after and reset-after break the body after that many tokens', async () => {
    for (const model of ['sim-cut-after-4', 'sim-reset-after-4']) {
      const reply = await call({ model })
      expect(reply.complete).toBe(false)
      expect(textOf(reply.text).trim().split(' ')).toHaveLength(4)
    }
  })

  test('end-after ends the body properly but without finish reason or [DONE]', async () => {
    const reply = await call({ model: 'sim-end-after-4' })
    expect(reply.complete).toBe(true)
    expect(reply.text).not.toContain('[DONE]')
    expect(eventsOf(reply.text).every((event) => event.choices[0].finish_reason === null)).toBe(true)
  })

  test.each([
    ['sim-stall-after-4', 4],
    ['sim-hang-after-role', 0],
  ])('%s sends %i tokens and then nothing', async (model, tokens) => {
    const abort = new AbortController()
    const reply = await call({
      model,
      signal: abort.signal,
      onText: (text) => {
        if (eventsOf(text).length === tokens + 1) abort.abort()
      },
    })
    expect(textOf(reply.text).split(' ').filter(Boolean)).toHaveLength(tokens)
    expect(reply.complete).toBe(false)
    await providers.log.abortedBy((request) => request.model === model)
  })

  test('malformed-event puts one unparsable event among good ones', async () => {
    const reply = await call({ model: 'sim-malformed-event.words-10' })
    const events = reply.text.split('\n\n').filter((event) => event.startsWith('data: {'))
    const broken = events.filter((event) => {
      try {
        return !JSON.parse(event.slice('data: '.length))
      } catch {
        return true
      }
    })
    expect(broken).toHaveLength(1)
    expect(reply.text.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test('error-event sends the error inside the stream', async () => {
    const events = eventsOf((await call({ model: 'sim-error-event-2' })).text)
    expect(events.at(-1)!.error.type).toBe('server_error')
    expect(events).toHaveLength(4)
  })

  test('split-bytes splits inside multi-byte characters and loses none', async () => {
    const reply = await call({ model: 'sim-split-bytes' })
    expect(textOf(reply.text)).toContain('漢字 ΔΕΖ 🎉')
    expect(reply.chunks.length).toBeGreaterThan(100)
  })

  test('missing-done, missing-usage, absurd-usage and negative-usage', async () => {
    expect((await call({ model: 'sim-missing-done' })).text).not.toContain('[DONE]')
    expect((await call({ model: 'sim-missing-usage' })).text).not.toContain('"usage"')
    const usageOf = async (model: string) => eventsOf((await call({ model })).text).at(-1)!.usage
    expect((await usageOf('sim-absurd-usage')).completion_tokens).toBeGreaterThan(1e9)
    expect((await usageOf('sim-negative-usage')).completion_tokens).toBeLessThan(0)
  })

  test('gzip compresses the stream although the client did not accept it', async () => {
    const reply = await call({ model: 'sim-gzip.words-10' })
    expect(reply.headers['content-encoding']).toBe('gzip')
    expect(textOf(gunzipSync(Buffer.concat(reply.chunks)).toString()).split(' ')).toHaveLength(10)
  })

  test('an empty answer finishes without a token', async () => {
    const reply = await call({ model: 'sim-empty' })
    expect(textOf(reply.text)).toBe('')
    expect(eventsOf(reply.text).at(-1)!.usage.completion_tokens).toBe(0)
  })

  test('a rate paces the tokens: one write each', async () => {
    const reply = await call({ model: 'sim-words-10.rate-500' })
    expect(textOf(reply.text).split(' ')).toHaveLength(10)
    expect(reply.chunks.length).toBeGreaterThan(4)
  })
})

test('requests are recorded with headers and body, and counters count', async () => {
  providers.reset()
  await call({ model: 'sim-echo', prompt: 'recorded?', headers: { authorization: 'Bearer k' } })
  const [request] = providers.log.requests
  expect(request).toMatchObject({ provider: 'alpha', model: 'sim-echo', state: 'finished' })
  expect(request!.headers.authorization).toBe('Bearer k')
  expect(providers.counters()).toMatchObject({ received: 1, aborted: 0 })
})

describe('streams as some real providers write them', () => {
  const TOOLS = ['f', 'g'].map((name) => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: { x: { type: 'integer' } } } },
  }))
  const said = async (segment: string) => {
    const content = 'f({"x":1})\ng({"x":2})'
    const body = { messages: [{ role: 'user', content }], tools: TOOLS }
    return (await call({ model: `sim-parallel.${segment}`, body })).text
  }
  const pieces = async (segment: string) =>
    [...(await said(segment)).matchAll(/"tool_calls":\[(\{.*?\})\]\}/g)].map(([, json]) => JSON.parse(json!))

  test('calls without an index, with one, with empty ids, and with objects as arguments', async () => {
    expect((await pieces('calls-no-index')).some((piece) => 'index' in piece)).toBe(false)
    expect(new Set((await pieces('calls-one-index')).map(({ index }) => index))).toEqual(new Set([0]))
    expect((await pieces('calls-empty-ids')).filter(({ id }) => id === '').length).toBeGreaterThan(0)
    expect((await pieces('calls-objects')).map((piece) => piece.function.arguments)).toEqual([
      { x: 1 },
      { x: 2 },
    ])
  })

  test('an event of a mebibyte and more, an error of a tool call, and cache counts at the end', async () => {
    const events = (await said('long-event-1200')).split('\n\n')
    expect(Math.max(...events.map(({ length }) => length))).toBeGreaterThan(1024 * 1024)
    expect(await said('tool-error-1')).toMatch(/^event: error\ndata: .*"code":"tool_use_failed"/m)
    expect(await said('late-cache')).toMatch(/"prompt_tokens_details":\{"cached_tokens":\d+\}/)
    expect(await said('nameless-finish')).toContain('"finish_reason":""')
  })

  test('no finish reason, and no empty line before the usage', async () => {
    expect(await said('missing-finish')).not.toMatch(/"finish_reason":"/)
    expect(await said('glued')).toMatch(/"finish_reason":"tool_calls".*\ndata: .*"usage"/)
  })
})
