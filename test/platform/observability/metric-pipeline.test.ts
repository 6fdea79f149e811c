import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { StartError } from '../../../src/core/kernel/errors.ts'
import { createGenAiMetrics, type EndedOperation } from '../../../src/platform/observability/genai-metrics.ts'
import { startMetricPipeline } from '../../../src/platform/observability/metric-pipeline.ts'
import { wants } from '../../../src/platform/observability/start-tracing.ts'
import { startTraceCollector, type TraceCollector } from '../../helpers/trace-collector.ts'

let collector: TraceCollector
let registry: Registry

beforeAll(async () => {
  collector = await startTraceCollector()
})
beforeEach(() => {
  registry = new Registry()
})
afterAll(() => collector.close())
afterEach(() => {
  vi.unstubAllEnvs()
  collector.requests.length = 0
  collector.histograms.clear()
})

const operation = (changes: Partial<EndedOperation> = {}, model = 'large-1'): EndedOperation => ({
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'acme',
    'gen_ai.request.model': model,
    'server.address': 'api.acme.example',
    'server.port': 443,
  },
  durationMs: 1_500,
  errorType: null,
  usage: { promptTokens: 300, completionTokens: 20 },
  ...changes,
})

function start(environment: Record<string, string> = {}) {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url)
  vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json')
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  return startMetricPipeline('shuntyard-test', () => [registry])
}

const seriesOf = (name: string) =>
  (collector.histograms.get(name) ?? []).map(({ count, sum, temporality }) => ({ count, sum, temporality }))

test('operations arrive with the buckets and attributes of the conventions, as Prometheus has them', async () => {
  const record = createGenAiMetrics(registry)
  record(operation())
  record(operation({ errorType: 'silent', usage: null, durationMs: 90_000 }))
  await start().shutdown()
  const [served, failed] = collector.histograms.get('gen_ai.client.operation.duration s')!
  expect(served).toEqual({
    attributes: operation().attributes,
    ...{ count: 1, sum: 1.5, temporality: 2 },
    bounds: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
    bucketCounts: [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0],
  })
  expect(failed!.attributes).toEqual({ ...operation().attributes, 'error.type': 'silent' })
  expect(failed!.bucketCounts.at(-1)).toBe(1)
  const tokens = collector.histograms.get('gen_ai.client.token.usage {token}')!
  expect(tokens.map(({ attributes, sum }) => [attributes['gen_ai.token.type'], sum])).toEqual([
    ['input', 300],
    ['output', 20],
  ])
  expect(await registry.metrics()).toMatch(/gen_ai_client_operation_duration_seconds_sum\{[^}]*\} 1\.5\n/)
})

test.each([
  ['cumulative', 3],
  ['delta', 2],
])('with the temporality %s a later export counts %i operations', async (preference, later) => {
  const record = createGenAiMetrics(registry)
  const pipeline = start({ OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: preference })
  record(operation())
  await (pipeline as unknown as { forceFlush(): Promise<void> }).forceFlush()
  expect(seriesOf('gen_ai.client.operation.duration s')).toMatchObject([{ count: 1, sum: 1.5 }])
  record(operation())
  record(operation())
  await pipeline.shutdown()
  expect(seriesOf('gen_ai.client.operation.duration s')).toMatchObject([{ count: later, sum: later * 1.5 }])
})

test('nothing is sent while there is nothing, and protobuf is the default protocol', async () => {
  await start().shutdown()
  expect(collector.requests).toEqual([])
  createGenAiMetrics(registry)(operation())
  await start({ OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/protobuf' }).shutdown()
  expect(collector.requests).toMatchObject([
    { path: '/v1/metrics', headers: { 'content-type': 'application/x-protobuf' } },
  ])
})

test('models beyond the hundredth share their series, so that a scrape stays short', async () => {
  const record = createGenAiMetrics(registry)
  for (let model = 0; model < 150; model++) record(operation({ usage: null }, `model-${model}`))
  await start().shutdown()
  const series = collector.histograms.get('gen_ai.client.operation.duration s')!
  expect(series).toHaveLength(101)
  expect(series.at(-1)).toMatchObject({ count: 50, attributes: { 'gen_ai.request.model': 'other' } })
})

test.each([
  [{}, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }, true],
  [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://c' }, true],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_METRICS_EXPORTER: 'none' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_SDK_DISABLED: 'true' }, false],
])('the environment %j enables metrics: %s', (environment, isOn) => {
  expect(wants('METRICS', environment)).toBe(isOn)
})

test('an exporter that is not supported fails the start', () => {
  expect(() => start({ OTEL_METRICS_EXPORTER: 'prometheus' })).toThrow(StartError)
})
