import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ChatContent, parseChatRequest } from '../../src/core/calls/chat-request.ts'
import { type Provider, WIRES, type Wire } from '../../src/core/catalog/catalog.ts'
import { createSign } from '../../src/providers/credentials/create-sign.ts'
import {
  createProviderClients,
  createTransport,
  type Transport,
} from '../../src/providers/provider-clients.ts'
import type { AttemptRequest } from '../../src/providers/wire.ts'
import { WIRE_MAPPINGS } from '../../src/providers/wires.ts'
import { BEDROCK_API_KEY } from '../../tools/simulated-providers/clouds/cloud-access.ts'
import {
  type SimulatedProviders,
  startSimulatedProviders,
} from '../../tools/simulated-providers/start-simulated-providers.ts'
import { takenApart } from '../helpers/attempt-result.ts'
import { contentParts } from '../helpers/content-parts.ts'
import { offerAt } from '../helpers/scripted-provider.ts'
import { pass, stopClock } from '../helpers/stopped-clock.ts'
import { WIRE_PATHS } from '../helpers/wires.ts'

const PATIENT = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 }
const PROMPT = 'Why do trains need a turntable?'
const KEY = BEDROCK_API_KEY

const CREDENTIALS: Partial<Record<Wire, Pick<Provider, 'credentials'>>> = {
  'bedrock-converse': { credentials: { kind: 'aws', region: 'us-east-1' } },
}

let providers: SimulatedProviders
let transport: Transport

beforeAll(async () => {
  providers = await startSimulatedProviders()
  transport = createTransport({ connectTimeoutMs: 30_000 })
})
afterAll(async () => {
  await transport.close()
  await providers.close()
})

type Changes = Partial<AttemptRequest & Pick<ChatContent, 'messages' | 'parameters'>>

interface Heard {
  end: ReturnType<typeof takenApart>
  text: string
  refusal: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into the deltas.
  toolCalls: any[]
}

const failed = (kind: string, more: object = {}) => ({ kind: 'failed', failure: { kind, ...more } })

describe.each(WIRES)('%s', (wire) => {
  const registry = () =>
    createProviderClients({
      wires: WIRE_MAPPINGS,
      transport,
      sign: createSign(Date.now),
      ourKey: ({ apiKeyEnv }) => (apiKeyEnv === null ? null : KEY),
      connectTimeoutMs: 30_000,
      now: Date.now,
    })

  /** Asks the simulated provider of this wire for a model of this behaviour. */
  async function attempt(
    upstreamModel: string,
    { messages = [{ role: 'user', content: PROMPT }], parameters = {}, ...changes }: Changes = {},
    onText?: (text: string) => void,
  ): Promise<Heard> {
    const offer = offerAt(`${providers.url}/acme/${WIRE_PATHS[wire]}`)
    const heard = { text: '', refusal: '', toolCalls: [] as unknown[] }
    const outcome = await registry()(wire).attempt(
      {
        offer: { ...offer, upstreamModel, provider: { ...offer.provider, ...CREDENTIALS[wire], wire } },
        content: { kind: 'chat', messages, parameters },
        accountId: 'acct_1',
        completionLimit: 512,
        limits: PATIENT,
        signal: new AbortController().signal,
        ...changes,
      },
      ([kind, content]) => {
        if (kind === 'text' || kind === 'refusal') heard[kind] += content
        if (kind === 'text') onText?.(content)
        if (kind === 'tool-calls') heard.toolCalls.push(...content)
      },
    )
    return { end: takenApart(outcome), ...heard }
  }

  test('nothing is sent of a request whose conversion is interrupted', async () => {
    const upstreamModel = `words-1.tag-interrupted-${wire}`
    const convert = (run: () => unknown) => {
      run()
      throw new Error('interrupted')
    }
    const interrupted = attempt(upstreamModel, { convert: convert as AttemptRequest['convert'] })
    await expect(interrupted).rejects.toThrow('interrupted')
    expect(providers.log.requests.filter(({ model }) => model === upstreamModel)).toEqual([])
  })

  describe('answers', () => {
    test('text, finish reason and usage are the same as on any other wire', async () => {
      const { end, text } = await attempt('words-40')
      expect(text.split(' ')).toHaveLength(40)
      expect(text).toContain(PROMPT)
      expect(end).toMatchObject({
        result: { kind: 'finished', reason: 'stop', usage: { promptTokens: 11, completionTokens: 40 } },
        httpStatus: 200,
        malformedEvents: 0,
      })
    })

    test('our key is sent, in the header of the wire', async () => {
      const upstreamModel = `words-3.auth.tag-${wire}`
      const { end } = await attempt(upstreamModel)
      expect(end.result.kind).toBe('finished')
      const { headers } = await providers.log.arrived(({ model }) => model === upstreamModel)
      const sent = [headers.authorization, headers['x-api-key'], headers['x-goog-api-key']]
      expect(sent.filter((value) => value !== undefined)).toEqual([
        headers.authorization === undefined ? KEY : `Bearer ${KEY}`,
      ])
    })

    test('thinking is counted and not relayed', async () => {
      const { end, text } = await attempt('reasoning-25.words-10')
      expect(text.split(' ')).toHaveLength(10)
      expect(end.result).toMatchObject({ kind: 'finished', usage: { completionTokens: 35 } })
    })

    test('the completion limit is sent and bounds the answer, thinking included', async () => {
      const { end } = await attempt('reasoning-25.words-40', { completionLimit: 30 })
      expect(end.result).toMatchObject({
        kind: 'finished',
        reason: 'length',
        usage: { completionTokens: 30 },
      })
    })

    test('a tool is called with its arguments whole, under an id that names no provider', async () => {
      const parameters = {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'integer' } },
        required: ['city'],
        additionalProperties: false,
      }
      const { end, text, toolCalls } = await attempt('words-5', {
        messages: [{ role: 'user', content: 'Use get_weather for "Oslo", 3 days' }],
        parameters: { tools: [{ type: 'function', function: { name: 'get_weather', parameters } }] },
      })
      expect(text).toBe('')
      expect(end.result).toMatchObject({ kind: 'finished', reason: 'tool_calls' })
      expect(toolCalls[0]).toMatchObject({ index: 0, type: 'function', function: { name: 'get_weather' } })
      expect(toolCalls[0].id).toMatch(/^call_[A-Za-z0-9]+$/)
      const json = toolCalls.map((delta) => delta.function.arguments).join('')
      expect(JSON.parse(json)).toEqual({ city: 'Oslo', days: 3 })
    })

    test('images arrive, inline and by address', async () => {
      const { text } = await attempt('words-60', {
        messages: [
          {
            role: 'user',
            content: contentParts(
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
              { type: 'image_url', image_url: { url: 'https://images.example/cat.webp' } },
            ),
          },
        ],
      })
      // Bedrock reads no address.
      expect(text).toContain(wire === 'bedrock-converse' ? 'You sent 1 image.' : 'You sent 2 images.')
    })

    test('JSON by a schema is asked for', async () => {
      const schema = { type: 'object', properties: { name: { type: 'string' }, count: { type: 'number' } } }
      const { text } = await attempt('words-5', {
        messages: [{ role: 'user', content: 'Make "Ada" 7' }],
        parameters: { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
      })
      expect(JSON.parse(text)).toEqual({ name: 'Ada', count: 7 })
    })

    test('system messages anywhere, a tool result and a turn without text are taken', async () => {
      const { end } = await attempt('words-5', {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'assistant', content: 'Hello.' },
          { role: 'user', content: 'Weather?', name: 'ada' },
          { role: 'assistant', content: '' },
          { role: 'tool', content: '{"degrees": 7}', tool_call_id: 'call_1', name: 'get_weather' },
          { role: 'system', content: 'Answer in French.' },
          { role: 'user', content: 'And now?' },
        ],
        parameters: { temperature: 1.7, top_p: 0.5 },
      })
      expect(end.result).toMatchObject({ kind: 'finished', reason: 'stop' })
    })

    test('an agent of five turns, whose calls are dropped from its history, is never refused', async () => {
      const tool = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }
      const history: object[] = [{ role: 'system', content: 'Use tools.' }]
      for (let turn = 1; turn <= 5; turn++) {
        history.push({ role: 'user', content: turn === 1 ? 'Use get_weather for "Oslo".' : `And ${turn}?` })
        const ids = [`call_${turn}a`, `call_${turn}b`]
        for (const more of [
          [],
          [
            {
              role: 'assistant',
              content: turn % 2 === 0 ? 'I look it up.' : null,
              tool_calls: ids.map((id) => ({
                id,
                type: 'function',
                function: { name: 'get_weather', arguments: '{}' },
              })),
            },
            { role: 'tool', tool_call_id: ids[0], content: '{"degrees": 7}' },
            {
              role: 'tool',
              tool_call_id: ids[1],
              name: 'get_weather',
              content: [{ type: 'text', text: '' }],
            },
          ],
        ]) {
          history.push(...more)
          const { messages, parameters } = parseChatRequest({ messages: history, tools: [tool] }).content
          const { end, text, toolCalls } = await attempt('turns.no-prefill.words-3', { messages, parameters })
          expect(end.result).toMatchObject({ kind: 'finished' })
          expect(toolCalls.length > 0).toBe(history.length === 2)
          if (text !== '') history.push({ role: 'assistant', content: text })
        }
      }
    })

    test('a trailing assistant message is continued', async () => {
      const whole = (await attempt('words-30')).text
      for (const length of [40, 41, 42, 43, 44, 45]) {
        const start = whole.slice(0, length)
        const { text } = await attempt('words-30.prefill', {
          messages: [
            { role: 'user', content: PROMPT },
            { role: 'assistant', content: start },
          ],
        })
        expect(start + text).toBe(whole)
      }
    })

    test.each([
      'split-bytes',
      'gzip.multibyte',
      'crlf',
      'comments',
      'ignore-stream',
      'missing-done',
      'burst-3',
      'long-event-1200',
    ])('%s changes nothing about the answer', async (form) => {
      const { end, text } = await attempt(`${form}.words-12`)
      expect(end).toMatchObject({
        result: { kind: 'finished', reason: 'stop', usage: { completionTokens: expect.any(Number) } },
        malformedEvents: 0,
      })
      const usual = await attempt(form.match(/multibyte|split/) ? 'multibyte.words-12' : 'words-12')
      expect(text).toBe(usual.text)
    })

    test('missing usage is reported as missing, and absurd usage unchanged', async () => {
      expect((await attempt('missing-usage')).end.result).toMatchObject({ kind: 'finished', usage: null })
      const { result } = (await attempt('absurd-usage')).end
      expect(result.kind === 'finished' && result.usage?.completionTokens).toBeGreaterThan(1e11)
      expect((await attempt('negative-usage')).end.result).toMatchObject({
        usage: { completionTokens: expect.any(Number) },
      })
    })

    test('a connection that is stale when it is used again is no failure of the provider', async () => {
      const upstreamModel = `stale.words-8.tag-${wire}`
      await attempt('words-1')
      const { end } = await attempt(upstreamModel)
      expect(end.result).toMatchObject({ kind: 'finished', reason: 'stop' })
      expect(providers.log.requests.filter(({ model }) => model === upstreamModel)).toHaveLength(2)
    })

    test('cache counts of the last event replace those before', async () => {
      expect((await attempt('late-cache')).end.result).toMatchObject({
        kind: 'finished',
        usage: { promptTokens: 11, cachedTokens: 3 },
      })
    })

    test('an end without a name is whole if the provider says that it is over', async () => {
      const { end } = await attempt('nameless-finish.words-8')
      const isSaid = wire !== 'google-generate-content'
      expect(end.result).toMatchObject(
        isSaid ? { kind: 'finished', reason: 'stop' } : failed('broken-stream'),
      )
    })

    test('a refusal of the model ends the answer', async () => {
      const { end, text, refusal } = await attempt('refuse')
      const saysRefusal = wire === 'chat-completions' || wire === 'responses'
      expect(text + refusal).toBe('I cannot help with that.')
      expect(end.result).toMatchObject({
        kind: 'finished',
        reason: saysRefusal ? 'stop' : 'content_filter',
      })
    })

    test('an answer without a token is passed on for its call to judge', async () => {
      const { end, text } = await attempt('empty')
      expect(text).toBe('')
      expect(end.result).toMatchObject({ kind: 'finished', reason: 'stop' })
    })

    test('a cut-off answer has the usage that its provider had reported by then', async () => {
      const controller = new AbortController()
      const { end } = await attempt('reasoning-200.words-200.rate-400', { signal: controller.signal }, () =>
        controller.abort(),
      )
      expect(end.result).toEqual({ kind: 'cancelled' })
      expect(end.produced.thinkingBytes).toBeGreaterThan(200)
      if (wire === 'anthropic-messages') expect(end.produced.usage!.promptTokens).toBeGreaterThan(0)
    })

    test('a malformed event is skipped and counted', async () => {
      const { end, text } = await attempt('malformed-event.words-8')
      expect(text.split(' ')).toHaveLength(8)
      expect(end).toMatchObject({ result: { kind: 'finished' }, malformedEvents: 1 })
    })
  })

  describe('failures', () => {
    test.each([
      ['status-400', 'bad-request'],
      ['status-400-context', 'context-length'],
      ['status-400-policy', 'content-policy'],
      ['status-401', 'refused'],
      ['status-402', 'refused'],
      ['status-403', 'refused'],
      ['status-404', 'refused'],
      ['unknown-segment', 'refused'],
      ['status-408', 'server-error'],
      ['status-413', 'context-length'],
      ['status-429', 'rate-limited'],
      ['status-500', 'server-error'],
      ['status-503', 'server-error'],
      ['status-529', 'server-error'],
      ['reset', 'reset'],
      ['html-200', 'unreadable'],
      ['error-body-200', 'server-error'],
      ['error-event-0', 'server-error'],
      ['error-event-5', 'server-error'],
      ['tool-error-5', 'server-error'],
      ['end-after-5', 'broken-stream'],
      ['cut-after-5', 'broken-stream'],
      ['reset-after-5', 'broken-stream'],
    ])('%s is %s, and nothing of its text is kept but in its message', async (model, kind) => {
      const { end } = await attempt(model)
      expect(end.result).toMatchObject(failed(kind))
      const withoutMessage = JSON.stringify(end, (name, value) => (name === 'providerMessage' ? null : value))
      expect(withoutMessage).not.toMatch(/acme|simulated|safety|words|sk-sim/)
      expect(JSON.stringify(end)).not.toContain('sk-sim')
    })

    test('how long to wait is read from where the wire says it', async () => {
      expect((await attempt('status-429-retry-7')).end.result).toMatchObject(
        failed('rate-limited', { retryAfterMs: 7_000 }),
      )
    })
  })

  describe('limits of time', () => {
    stopClock()

    test.each([
      ['hang', 'silent'],
      ['hang-after-headers', 'silent'],
      ['hang-after-role', 'silent'],
      ['stall-after-5', 'stalled'],
    ])('%s is %s, and the provider is let go', async (fault, kind) => {
      const model = `${fault}.tag-${wire}`
      const isIt = (request: { model: string | null }) => request.model === model
      const attempted = attempt(model)
      await providers.log.arrived(isIt)
      await pass(PATIENT.firstTokenMs + 2)
      expect((await attempted).end.result).toMatchObject(failed(kind))
      await providers.log.abortedBy(isIt)
    })
  })

  test('cancelling stops the provider at once', async () => {
    const model = `words-2000.rate-50.tag-${wire}`
    const controller = new AbortController()
    const { end } = await attempt(model, { signal: controller.signal }, () => controller.abort())
    expect(end.result).toEqual({ kind: 'cancelled' })
    await providers.log.abortedBy((request) => request.model === model)
  })
})
