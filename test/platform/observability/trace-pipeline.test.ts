import { context, propagation, trace } from '@opentelemetry/api'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { StartError } from '../../../src/core/kernel/errors.ts'
import { startTracePipeline } from '../../../src/platform/observability/trace-pipeline.ts'
import { startTraceCollector, type TraceCollector } from '../../helpers/trace-collector.ts'

let collector: TraceCollector

beforeAll(async () => {
  collector = await startTraceCollector()
})
afterAll(() => collector.close())
afterEach(() => {
  vi.unstubAllEnvs()
  for (const api of [trace, context, propagation]) api.disable()
  for (const list of [collector.requests, collector.spans]) list.length = 0
})

/** Makes spans in a pipeline of this environment until it is shut down. */
async function traced(environment: Record<string, string>, spans = 1): Promise<void> {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url)
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  const pipeline = startTracePipeline('shuntyard-test')
  for (let made = 0; made < spans; made++)
    trace
      .getTracer('test')
      .startSpan('work', { attributes: { first: 1, second: 2 } })
      .end()
  await pipeline.shutdown()
}

test('spans are sent as protobuf unless a protocol is set, with the configured headers', async () => {
  await traced({ OTEL_EXPORTER_OTLP_HEADERS: 'x-team=gateway,x-key=abc' })
  expect(collector.requests).toMatchObject([
    {
      path: '/v1/traces',
      headers: { 'content-type': 'application/x-protobuf', 'x-team': 'gateway', 'x-key': 'abc' },
    },
  ])
})

test('spans carry the attributes of their process and the service name of its role', async () => {
  await traced({
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=canary',
  })
  expect(collector.spans).toMatchObject([
    {
      name: 'work',
      service: 'shuntyard-test',
      resource: {
        'deployment.environment.name': 'canary',
        'process.pid': expect.any(Number),
        'telemetry.sdk.name': 'opentelemetry',
      },
    },
  ])
})

test('a protocol of traces is preferred to the one of all signals', async () => {
  await traced({
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
  })
  expect(collector.requests).toMatchObject([{ headers: { 'content-type': 'application/json' } }])
})

test.each([
  ['always_on', '', 20],
  ['always_off', '', 0],
  ['traceidratio', '0', 0],
  ['traceidratio', '1', 20],
  ['parentbased_traceidratio', '0', 0],
  ['parentbased_always_off', '', 0],
])('the sampler %s with the argument "%s" keeps %i of 20 spans', async (sampler, argument, kept) => {
  await traced(
    {
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: argument,
    },
    20,
  )
  expect(collector.spans).toHaveLength(kept)
})

test('batches and spans keep to the limits of the environment', async () => {
  await traced(
    {
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2',
      OTEL_ATTRIBUTE_COUNT_LIMIT: '1',
    },
    4,
  )
  expect(collector.requests).toHaveLength(2)
  for (const { attributes } of collector.spans) expect(attributes).toEqual({ first: 1 })
})

test.each([
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'use http/protobuf or http/json'],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'grpc', 'use http/protobuf or http/json'],
  ['OTEL_TRACES_EXPORTER', 'zipkin', 'use otlp or console'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'parentbased_always_on'],
  ['OTEL_TRACES_SAMPLER', 'toString', 'is not supported'],
  ['OTEL_NODE_RESOURCE_DETECTORS', 'cloud', 'is not supported'],
])('%s=%s fails the start and names what is supported', async (variable, value, words) => {
  const start = traced({ [variable]: value })
  await expect(start).rejects.toThrow(StartError)
  await expect(start).rejects.toThrow(variable)
  await expect(start).rejects.toThrow(words)
})

test('a ratio outside of 0 to 1 fails the start', async () => {
  const start = traced({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.5' })
  await expect(start).rejects.toThrow(/OTEL_TRACES_SAMPLER_ARG .* 1\.5/)
})
