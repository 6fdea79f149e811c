import { context, DiagConsoleLogger, diag, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  diagLogLevelFromString,
  getNumberFromEnv,
  getStringFromEnv,
  getStringListFromEnv,
  W3CTraceContextPropagator,
} from '@opentelemetry/core'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  hostDetector,
  osDetector,
  processDetector,
  type Resource,
  type ResourceDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources'
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

/**
 * Builds and registers the trace pipeline that the OTEL_* variables describe, as `@opentelemetry/sdk-node` does. That
 * package also installs metrics, logs, gRPC and Zipkin, which are not used here. The exporters read their own variables
 * (endpoint, headers, timeout, compression, certificates) from `process.env`, so the rest is read from there as well.
 * Source: the OpenTelemetry specification, "Environment Variable Specification". Throws StartError for a value that is
 * not supported.
 */
export function startTracePipeline(serviceName: string): { shutdown(): Promise<void> } {
  const logLevel = getStringFromEnv('OTEL_LOG_LEVEL')
  if (logLevel !== undefined)
    diag.setLogger(new DiagConsoleLogger(), { logLevel: diagLogLevelFromString(logLevel) })
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
  otlp: () => {
    const own = 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'
    const variable = getStringFromEnv(own) === undefined ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : own
    return batched(choose(PROTOCOLS, variable, getStringFromEnv(variable) ?? 'http/protobuf')())
  },
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

const DETECTORS: Record<string, ResourceDetector[]> = {
  serviceinstance: [serviceInstanceIdDetector],
  process: [processDetector],
  host: [hostDetector],
  os: [osDetector],
  env: [envDetector],
  none: [],
}

function readResource(serviceName: string): Resource {
  const names = getStringListFromEnv('OTEL_NODE_RESOURCE_DETECTORS') ?? ['all']
  const detectors = names.includes('all')
    ? Object.values(DETECTORS).flat()
    : names.flatMap((name) => choose(DETECTORS, 'OTEL_NODE_RESOURCE_DETECTORS', name))
  return defaultResource()
    .merge(detectResources({ detectors }))
    .merge(resourceFromAttributes({ 'service.name': serviceName }))
}

/**
 * Reads each number from the first of its variables that is set. If none is set or the value is below `least`: the
 * SDK's default.
 */
function numbers<Name extends string>(
  least: number,
  variables: Record<Name, string[]>,
): { [name in Name]?: number } {
  const read: { [name in Name]?: number } = {}
  for (const name in variables) {
    const value = variables[name].map(getNumberFromEnv).find((number) => number !== undefined)
    if (value !== undefined && value >= least) read[name] = value
  }
  return read
}

function choose<T>(table: Record<string, T>, variable: string, name: string): T {
  const chosen = Object.hasOwn(table, name) ? table[name] : undefined
  if (chosen !== undefined) return chosen
  throw new StartError(`${variable}: ${name} is not supported; use ${Object.keys(table).join(' or ')}`)
}
