import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span as it came over OTLP/HTTP with JSON. */
export interface CollectedSpan {
  service: string
  /** Of the process that made it. */
  resource: Record<string, unknown>
  name: string
  kind: number
  /** Unix milliseconds, with fractions. */
  startMs: number
  endMs: number
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  attributes: Record<string, unknown>
  links: string[]
  failed: boolean
}

export interface TraceCollector {
  url: string
  requests: Array<{ path: string; headers: IncomingHttpHeaders }>
  /** The spans that arrived as JSON. */
  spans: CollectedSpan[]
  /** The last value of each series of the histograms that arrived as JSON, by the name of the metric. */
  histograms: Map<string, CollectedHistogram[]>
  /** Everything that arrived, as text. */
  received: string[]
  close(): Promise<void>
}

export interface CollectedHistogram {
  attributes: Record<string, unknown>
  count: number
  sum: number
  bounds: number[]
  bucketCounts: number[]
  /** 1: since the last export; 2: since the start. */
  temporality: number
}

/** A server that takes traces and metrics. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const requests: TraceCollector['requests'] = []
  const spans: CollectedSpan[] = []
  const received: string[] = []
  const histograms: TraceCollector['histograms'] = new Map()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push(body)
    requests.push({ path: request.url ?? '', headers: request.headers })
    if (request.headers['content-type'] === 'application/json') {
      if (request.url?.endsWith('/v1/metrics')) {
        for (const [name, series] of histogramsOf(JSON.parse(body))) histograms.set(name, series)
      } else spans.push(...spansOf(JSON.parse(body)))
    }
    response.setHeader('content-type', 'application/json')
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans,
    histograms,
    received,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface Attribute {
  key: string
  value: {
    stringValue?: string
    intValue?: number
    doubleValue?: number
    boolValue?: boolean
    arrayValue?: unknown
  }
}

interface WireSpan {
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: Attribute[]
  links?: Array<{ traceId: string }>
  status?: { code?: number }
}

interface WireBatch {
  resourceSpans: Array<{
    resource: { attributes: Attribute[] }
    scopeSpans: Array<{ spans: WireSpan[] }>
  }>
}

const FAILED = 2

function spansOf(batch: WireBatch): CollectedSpan[] {
  return batch.resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const ofProcess = valuesOf(resource.attributes)
    return scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        service: String(ofProcess['service.name']),
        resource: ofProcess,
        name: span.name,
        kind: span.kind,
        startMs: Number(span.startTimeUnixNano) / 1e6,
        endMs: Number(span.endTimeUnixNano) / 1e6,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId,
        attributes: valuesOf(span.attributes),
        links: (span.links ?? []).map(({ traceId }) => traceId),
        failed: span.status?.code === FAILED,
      }))
  })
}

interface WireMetrics {
  resourceMetrics: Array<{
    scopeMetrics: Array<{
      metrics: Array<{
        name: string
        unit: string
        histogram: {
          aggregationTemporality: number
          dataPoints: Array<{
            attributes: Attribute[]
            count: number
            sum: number
            explicitBounds: number[]
            bucketCounts: number[]
          }>
        }
      }>
    }>
  }>
}

const histogramsOf = ({ resourceMetrics }: WireMetrics): Array<[string, CollectedHistogram[]]> =>
  resourceMetrics
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap(({ metrics }) => metrics)
    .map(({ name, unit, histogram: { aggregationTemporality: temporality, dataPoints } }) => [
      `${name} ${unit}`,
      dataPoints.map(({ attributes, count, sum, explicitBounds: bounds, bucketCounts }) => ({
        attributes: valuesOf(attributes),
        ...{ count: Number(count), sum, bounds, bucketCounts: bucketCounts.map(Number), temporality },
      })),
    ])

const valuesOf = (attributes: Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
