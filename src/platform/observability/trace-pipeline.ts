import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  getNumberFromEnv,
  getStringFromEnv,
  getStringListFromEnv,
  W3CTraceContextPropagator,
} from '@opentelemetry/core'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  ParentBasedSampler,
  type Sampler,
  SimpleSpanProcessor,
  type SpanExporter,
  type SpanLimits,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { StartError } from '../../core/kernel/errors.ts'
import { choose, chooseProtocol, numbers, readLogLevel, readResource } from './otel-environment.ts'

/**
 * Builds and registers the trace pipeline that the OTEL_* variables describe, as `@opentelemetry/sdk-node` does. That
 * package also installs metrics, logs, gRPC and Zipkin, which are not used here. The exporters read their own variables
 * (endpoint, headers, timeout, compression, certificates) from `process.env`, so the rest is read from there as well.
 * Source: the OpenTelemetry specification, "Environment Variable Specification". Throws StartError for a value that is
 * not supported.
 */
export function startTracePipeline(serviceName: string): { shutdown(): Promise<void> } {
  readLogLevel()
  const provider = new TracerProvider({
    resource: readResource(serviceName),
    sampler: readSampler(),
    spanLimits: readSpanLimits(),
    spanProcessors: readSpanProcessors(),
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(provider)
  return provider
}

const EXPORTERS: Record<string, () => SpanProcessor> = {
  otlp: () => batched(chooseProtocol(PROTOCOLS, 'TRACES')()),
  console: () => new SimpleSpanProcessor({ exporter: new ConsoleSpanExporter() }),
}

const PROTOCOLS: Record<string, () => SpanExporter> = {
  'http/protobuf': () => new ProtobufExporter(),
  'http/json': () => new JsonExporter(),
}

function readSpanProcessors(): SpanProcessor[] {
  const names = new Set(getStringListFromEnv('OTEL_TRACES_EXPORTER') ?? ['otlp'])
  return [...names].map((name) => choose(EXPORTERS, 'OTEL_TRACES_EXPORTER', name)())
}

const batched = (exporter: SpanExporter): SpanProcessor =>
  new BatchSpanProcessor({
    exporter,
    ...numbers(1, {
      maxQueueSize: ['OTEL_BSP_MAX_QUEUE_SIZE'],
      scheduledDelayMillis: ['OTEL_BSP_SCHEDULE_DELAY'],
      exportTimeoutMillis: ['OTEL_BSP_EXPORT_TIMEOUT'],
      maxExportBatchSize: ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'],
    }),
  })

const SAMPLERS: Record<string, () => Sampler> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: () => new TraceIdRatioBasedSampler(readRatio()),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: () => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(readRatio()) }),
}

const readSampler = (): Sampler =>
  choose(
    SAMPLERS,
    'OTEL_TRACES_SAMPLER',
    getStringFromEnv('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on',
  )()

function readRatio(): number {
  const ratio = getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG') ?? 1
  if (ratio >= 0 && ratio <= 1) return ratio
  throw new StartError(`OTEL_TRACES_SAMPLER_ARG must be between 0 and 1, not ${ratio}`)
}

const readSpanLimits = (): SpanLimits =>
  numbers(0, {
    attributeCountLimit: ['OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', 'OTEL_ATTRIBUTE_COUNT_LIMIT'],
    attributeValueLengthLimit: [
      'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
      'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT',
    ],
    eventCountLimit: ['OTEL_SPAN_EVENT_COUNT_LIMIT'],
    linkCountLimit: ['OTEL_SPAN_LINK_COUNT_LIMIT'],
    attributePerEventCountLimit: [
      'OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT',
      'OTEL_SPAN_ATTRIBUTE_PER_EVENT_COUNT_LIMIT',
    ],
    attributePerLinkCountLimit: [
      'OTEL_LINK_ATTRIBUTE_COUNT_LIMIT',
      'OTEL_SPAN_ATTRIBUTE_PER_LINK_COUNT_LIMIT',
    ],
  })
