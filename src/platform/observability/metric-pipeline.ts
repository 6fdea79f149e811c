import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api'
import { getStringFromEnv, millisToHrTime } from '@opentelemetry/core'
import { OTLPMetricExporter as JsonExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPMetricExporter as ProtobufExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import {
  AggregationTemporality,
  ConsoleMetricExporter,
  type DataPoint,
  DataPointType,
  type Histogram,
  type HistogramMetricData,
  InstrumentType,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics'
import type { MetricValueWithName, Histogram as PrometheusHistogram, Registry } from 'prom-client'
import { ATTRIBUTE_OF_LABEL, GEN_AI_HISTOGRAMS } from './genai-metrics.ts'
import { choose, chooseProtocol, numbers, readLogLevel, readResource } from './otel-environment.ts'

const EXPORTERS: Record<string, () => PushMetricExporter> = {
  otlp: () => chooseProtocol(PROTOCOLS, 'METRICS')(),
  console: () => new ConsoleMetricExporter(),
}

const PROTOCOLS: Record<string, () => PushMetricExporter> = {
  'http/protobuf': () => new ProtobufExporter(),
  'http/json': () => new JsonExporter(),
}

/**
 * Sends the metrics of the conventions for generative AI as the OTEL_* variables describe, from the histograms that
 * Prometheus scrapes. The exporters read their own variables from `process.env`, so the rest is read from there as
 * well. Throws StartError for a value that is not supported.
 */
export function startMetricPipeline(
  serviceName: string,
  registries: () => readonly Registry[],
): { shutdown(): Promise<void> } {
  readLogLevel()
  const exporter = choose(
    EXPORTERS,
    'OTEL_METRICS_EXPORTER',
    getStringFromEnv('OTEL_METRICS_EXPORTER') ?? 'otlp',
  )()
  const reader = new PeriodicExportingMetricReader({
    exporter,
    ...numbers(1, {
      exportIntervalMillis: ['OTEL_METRIC_EXPORT_INTERVAL'],
      exportTimeoutMillis: ['OTEL_METRIC_EXPORT_TIMEOUT'],
    }),
  })
  const resource = readResource(serviceName)
  const temporality = reader.selectAggregationTemporality(InstrumentType.HISTOGRAM)
  const read = createHistogramReader(temporality)
  const producer: MetricProducer = {
    async collect() {
      const metrics = await read(registries())
      const scopeMetrics = metrics.length === 0 ? [] : [{ scope: { name: 'shuntyard' }, metrics }]
      return { resourceMetrics: { resource, scopeMetrics }, errors: [] }
    },
  }
  reader.setMetricProducer(producer)
  return reader
}

/** Reads Prometheus histograms as data of OpenTelemetry: since the start, or since the last reading if `DELTA` is asked. */
function createHistogramReader(aggregationTemporality: AggregationTemporality) {
  const isDelta = aggregationTemporality === AggregationTemporality.DELTA
  let startTime: HrTime = millisToHrTime(Date.now())
  /** By metric and attributes. */
  const before = new Map<string, Histogram>()
  return async (registries: readonly Registry[]): Promise<HistogramMetricData[]> => {
    const endTime = millisToHrTime(Date.now())
    const found: HistogramMetricData[] = []
    for (const { name, prometheusName, description, unit } of GEN_AI_HISTOGRAMS) {
      const dataPoints: DataPoint<Histogram>[] = []
      for (const registry of registries) {
        const metric = registry.getSingleMetric(prometheusName) as PrometheusHistogram | undefined
        for (const series of metric ? seriesOf((await metric.get()).values) : []) {
          const { attributes, value: whole } = series
          const key = JSON.stringify([name, attributes])
          const value = isDelta ? difference(whole, before.get(key)) : whole
          if (isDelta) before.set(key, whole)
          if (value.count > 0) dataPoints.push({ startTime, endTime, attributes, value })
        }
      }
      if (dataPoints.length === 0) continue
      const descriptor = { name, description, unit, valueType: ValueType.DOUBLE }
      found.push({ descriptor, aggregationTemporality, dataPointType: DataPointType.HISTOGRAM, dataPoints })
    }
    if (isDelta) startTime = endTime
    return found
  }
}

/** The series of a histogram: prom-client lists for each its buckets, which count cumulatively, its sum and its count. */
function seriesOf(values: readonly MetricValueWithName<string>[]) {
  const series: Array<{ attributes: Attributes; value: Histogram }> = []
  let boundaries: number[] = []
  let counts: number[] = []
  let below = 0
  let sum = 0
  for (const { metricName = '', labels, value } of values) {
    if (metricName.endsWith('_bucket')) {
      counts.push(value - below)
      below = value
      if (labels.le !== '+Inf') boundaries.push(Number(labels.le))
    } else if (metricName.endsWith('_sum')) {
      sum = value
    } else {
      series.push({
        attributes: attributesOf(labels),
        value: { buckets: { boundaries, counts }, sum, count: value },
      })
      boundaries = []
      counts = []
      below = 0
    }
  }
  return series
}

function attributesOf(labels: Partial<Record<string, string | number>>): Attributes {
  const attributes: Attributes = {}
  for (const [label, value] of Object.entries(labels)) {
    const attribute = ATTRIBUTE_OF_LABEL.get(label)
    if (attribute !== undefined) attributes[attribute] = value
  }
  return attributes
}

function difference(now: Histogram, before: Histogram | undefined): Histogram {
  if (before === undefined) return now
  const counts = now.buckets.counts.map((count, index) => count - before.buckets.counts[index]!)
  return {
    buckets: { boundaries: now.buckets.boundaries, counts },
    sum: now.sum! - before.sum!,
    count: now.count - before.count,
  }
}
