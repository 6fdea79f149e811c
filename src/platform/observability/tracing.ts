import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'

/** A trace context as W3C `traceparent` text, so that it can travel in a job. */
export type Traceparent = string

/** What a piece of work is, and what caused it. */
export interface SpanOptions {
  kind: keyof typeof SpanKind
  attributes: Attributes
  /** What caused it in another process; absent: the span this runs in. */
  parent?: Traceparent | undefined
  /** Other traces it works for. */
  links?: readonly Traceparent[]
}

/** A span as the work in it sees it. */
export interface SpanNotes {
  set(attributes: Attributes): void
  /** Marks the span failed; `type` is a short word of our own vocabulary. */
  fail(type: string): void
}

/** A span whose end is not that of one function: a request that is answered by a stream. */
export interface OpenSpan extends SpanNotes {
  /** Runs `work` in the span, and whatever it starts. */
  run<T>(work: () => T): T
  end(): void
}

const tracer = () => trace.getTracer('switchyard')
const NO_NOTES: SpanNotes = { set: () => undefined, fail: () => undefined }

let isTracing = false

/** Whether the usual environment variables ask for traces. Without them nothing is loaded and nothing costs. */
export function wantsTraces(environment: Record<string, string | undefined>): boolean {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false
  const exporter = environment.OTEL_TRACES_EXPORTER
  if (exporter) return exporter !== 'none'
  return Boolean(environment.OTEL_EXPORTER_OTLP_ENDPOINT || environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)
}

/**
 * Starts OpenTelemetry for this process where the environment asks for it. Exporter, protocol, headers, sampler,
 * batches and resource follow the OTEL_* variables. Only traces: metrics are Prometheus's, logs are pino's.
 */
export async function startTracing(
  role: string,
  environment: Record<string, string | undefined>,
): Promise<{ stop(): Promise<void> }> {
  if (!wantsTraces(environment)) return { stop: async () => undefined }
  // Loaded on use, so that only a process that traces pays for it.
  const { startTracePipeline } = await import('./trace-pipeline.ts')
  const pipeline = startTracePipeline(environment.OTEL_SERVICE_NAME || `switchyard-${role}`)
  isTracing = true
  return {
    async stop() {
      isTracing = false
      // A collector that is away must not hold up the end of the process.
      await pipeline.shutdown().catch(() => undefined)
    },
  }
}

/** Whether this process makes traces. */
export const tracesAreOn = (): boolean => isTracing

/** The context of the span this runs in; undefined outside of any. */
export function currentTraceparent(): Traceparent | undefined {
  if (!isTracing) return undefined
  const carrier: Record<string, string> = {}
  propagation.inject(context.active(), carrier)
  return carrier.traceparent
}

/** What tracing says of a queue and a job of it. */
export const queueAttributes = (
  queue: string,
  operation: 'send' | 'process',
  jobId?: string,
): Attributes => ({
  'messaging.system': 'bullmq',
  'messaging.destination.name': queue,
  'messaging.operation.type': operation,
  'messaging.operation.name': operation,
  'messaging.message.id': jobId,
})

/** Fields that lead from a log line to its trace. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const span = isTracing ? trace.getActiveSpan()?.spanContext() : undefined
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {}
}

/** Runs `work` in a span that ends with it; a rejection fails the span and passes through. */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (notes: SpanNotes) => Promise<T>,
): Promise<T> {
  if (!isTracing) return work(NO_NOTES)
  const open = openSpan(name, options)
  try {
    return await open.run(() => work(open))
  } catch (error) {
    open.fail((error as Error).name)
    throw error
  } finally {
    open.end()
  }
}

/** Begins a span that its caller ends. */
export function openSpan(name: string, { kind, attributes, parent, links = [] }: SpanOptions): OpenSpan {
  const from = parent === undefined ? context.active() : contextOf(parent)
  const options = { kind: SpanKind[kind], attributes, links: links.flatMap(linkTo) }
  const span = tracer().startSpan(name, options, from)
  const within = trace.setSpan(from, span)
  return {
    run: (work) => context.with(within, work),
    set: (more) => void span.setAttributes(more),
    fail: (type) => failed(span, type),
    end: () => span.end(),
  }
}

function failed(span: Span, type: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute('error.type', type)
}

const contextOf = (traceparent: Traceparent): Context => propagation.extract(ROOT_CONTEXT, { traceparent })

function linkTo(traceparent: Traceparent) {
  const linked = trace.getSpanContext(contextOf(traceparent))
  return linked ? [{ context: linked }] : []
}
