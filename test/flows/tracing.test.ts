import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../helpers/eventually.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { type CollectedSpan, startTraceCollector, type TraceCollector } from '../helpers/trace-collector.ts'

const PROMPT = 'a prompt that no collector may see'
const SERVER = 2
const CLIENT = 3
const PRODUCER = 4
const CONSUMER = 5

let collector: TraceCollector
let stack: TestStack
let key: string

beforeAll(async () => {
  collector = await startTraceCollector()
  stack = await startStack({
    models: {
      'test/failover': [
        { at: 'alpha', model: 'status-500', cost: '0.10' },
        { at: 'beta', model: 'words-12', cost: '0.50' },
      ],
    },
    processes: true,
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '200',
    },
  })
  ;({ key } = await stack.account('1.00'))
})
afterAll(async () => {
  await stack?.close()
  await collector?.close()
})

test.each([false, true])(
  "a call (streamed: %s) is one trace, from its client's through the queue to every attempt and its settlement",
  async (stream) => {
    const traceId = randomBytes(16).toString('hex')
    const parent = randomBytes(8).toString('hex')
    const response = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-session-id': 'session-7',
        traceparent: `00-${traceId}-${parent}-01`,
      },
      body: JSON.stringify({
        model: 'test/failover',
        stream,
        max_tokens: 100,
        messages: [{ role: 'user', content: PROMPT }],
        // So that the provider that fails is tried first.
        provider: { sort: 'price' },
      }),
    })
    expect(response.status).toBe(200)
    await response.text()

    const spans = await eventually(() => {
      const own = collector.spans.filter((span) => span.traceId === traceId)
      expect(own.filter(({ name }) => name.startsWith('chat '))).toHaveLength(2)
      expect(own.some(({ name }) => name === 'process dispatch')).toBe(true)
      expect(own.some(({ kind }) => kind === SERVER)).toBe(true)
      return own
    })
    const named = (name: string) => spans.find((span) => span.name === name) as CollectedSpan
    const server = named('POST /v1/chat/completions')
    expect(server).toMatchObject({ kind: SERVER, parentSpanId: parent, service: 'shuntyard-api' })
    expect(server.attributes).toMatchObject({ 'http.response.status_code': 200 })
    expect(named('send dispatch')).toMatchObject({ kind: PRODUCER, parentSpanId: server.spanId })
    const claim = named('process dispatch')
    expect(claim).toMatchObject({
      kind: CONSUMER,
      parentSpanId: server.spanId,
      service: 'shuntyard-dispatch',
    })
    const attempts = spans.filter(({ name }) => name.startsWith('chat '))
    expect(attempts.map(({ kind, parentSpanId, failed }) => ({ kind, parentSpanId, failed }))).toEqual([
      { kind: CLIENT, parentSpanId: claim.spanId, failed: true },
      { kind: CLIENT, parentSpanId: claim.spanId, failed: false },
    ])
    expect(attempts[0]!.attributes).toMatchObject({
      'error.type': 'server-error',
      'http.response.status_code': 500,
    })
    expect(attempts[1]!.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'beta',
      'gen_ai.request.max_tokens': 100,
      'gen_ai.response.model': 'words-12',
      'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
      'gen_ai.conversation.id': 'session-7',
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
      'gen_ai.usage.cost': expect.any(Number),
      'shuntyard.call.attempt': 2,
      'server.address': '127.0.0.1',
    })
    expect(claim.attributes).toMatchObject({
      'shuntyard.call.status': 'completed',
      'shuntyard.call.attempts': 2,
      'shuntyard.call.charge_usd': expect.any(Number),
    })
    await eventually(() => {
      const settlement = collector.spans.find(({ links }) => links.includes(traceId))
      expect(settlement).toMatchObject({ name: 'process settlement', kind: CONSUMER })
    })
    expect(collector.received.join('')).not.toContain(PROMPT)
  },
)

test('the metrics of the conventions arrive over OTLP, and Prometheus has the same numbers', async () => {
  const common = {
    'gen_ai.operation.name': 'chat',
    'server.address': '127.0.0.1',
    'server.port': expect.any(Number),
  }
  const failed = { ...common, 'gen_ai.provider.name': 'alpha', 'gen_ai.request.model': 'status-500' }
  const served = { ...common, 'gen_ai.provider.name': 'beta', 'gen_ai.request.model': 'words-12' }
  await eventually(() => {
    const durations = collector.histograms.get('gen_ai.client.operation.duration s') ?? []
    expect(durations).toHaveLength(2)
    expect(durations).toContainEqual(
      expect.objectContaining({ attributes: { ...failed, 'error.type': 'server-error' }, count: 2 }),
    )
    expect(durations).toContainEqual(expect.objectContaining({ attributes: served, count: 2 }))
    expect(durations[0]!.bounds.slice(0, 3)).toEqual([0.01, 0.02, 0.04])
    const tokens = collector.histograms.get('gen_ai.client.token.usage {token}') ?? []
    expect(tokens.map(({ attributes, count }) => [attributes['gen_ai.token.type'], count])).toEqual([
      ['input', 2],
      ['output', 2],
    ])
  })
})

test('a call whose trace is not sampled has no span in any process', async () => {
  const traceIds = ['00', '01'].map((flags) => ({ flags, id: randomBytes(16).toString('hex') }))
  for (const { flags, id } of traceIds) {
    const response = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        traceparent: `00-${id}-${'1'.repeat(16)}-${flags}`,
      },
      body: JSON.stringify({
        model: 'test/failover',
        max_tokens: 100,
        messages: [{ role: 'user', content: PROMPT }],
      }),
    })
    expect(response.status).toBe(200)
    await response.text()
  }
  const [dropped, kept] = traceIds.map(({ id }) => id)
  await eventually(() => {
    const names = collector.spans.filter(({ traceId }) => traceId === kept).map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['POST /v1/chat/completions', 'process dispatch']))
    expect(collector.spans.some(({ links }) => links.includes(kept!))).toBe(true)
  })
  expect(collector.spans.filter((span) => span.traceId === dropped || span.links.includes(dropped!))).toEqual(
    [],
  )
})
