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

/** A trace context as W3C `traceparent` text, which can be stored in a job. */
export type Traceparent = string

/** Kind, attributes and causes of a span. */
export interface SpanOptions {
  kind: keyof typeof SpanKind
  attributes: Attributes
  /** The parent in another process. Absent: the active span. */
  parent?: Traceparent | undefined
  /** Other traces that the span belongs to. */
  links?: readonly Traceparent[]
}

/** The operations on a span for the work inside it. */
export interface SpanNotes {
  set(attributes: Attributes): void
  /** Marks the span as failed; `type` is one of the gateway's constants. */
  fail(type: string): void
}

/** A span that outlives one function, such as a request with a streamed response. */
export interface OpenSpan extends SpanNotes {
  /** False if the trace is not kept. */
  isRecorded: boolean
  /** Runs `work`, and everything that it starts, in the span. */
  run<T>(work: () => T): T
  end(): void
}

const tracer = () => trace.getTracer('shuntyard')
const NO_NOTES: SpanNotes = { set: () => undefined, fail: () => undefined }

let isTracing = false

/** Called by startTracing. */
export const setTracing = (isOn: boolean): void => {
  isTracing = isOn
}

/** Whether this process records traces. */
export const tracesAreOn = (): boolean => isTracing

/**
 * Whether the work at hand is part of a trace that is kept. That is decided where the trace begins: a call that is not
 * sampled has no span, no context and no `traceparent`, and costs next to nothing.
 */
export const isTraced = (): boolean => isTracing && trace.getActiveSpan()?.isRecording() === true

/** The context of the active span; undefined outside of any. */
export function currentTraceparent(): Traceparent | undefined {
  if (!isTraced()) return undefined
  const carrier: Record<string, string> = {}
  propagation.inject(context.active(), carrier)
  return carrier.traceparent
}

/** Span attributes of a queue and its job. */
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

/** Log fields that identify the trace of a log line. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const span = isTracing ? trace.getActiveSpan()?.spanContext() : undefined
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {}
}

/**
 * Runs `work` in a span that ends with it, if it has a parent or links to traces that are kept. A rejection fails the
 * span and is rethrown.
 */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (notes: SpanNotes) => Promise<T>,
): Promise<T> {
  const { parent, links = [] } = options
  if (!isTraced() && !(isTracing && (parent !== undefined || links.length > 0))) return work(NO_NOTES)
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

/** Starts a span that the caller ends. */
export function openSpan(name: string, { kind, attributes, parent, links = [] }: SpanOptions): OpenSpan {
  const from = parent === undefined ? context.active() : contextOf(parent)
  const options = { kind: SpanKind[kind], attributes, links: links.flatMap(linkTo) }
  const span = tracer().startSpan(name, options, from)
  const within = trace.setSpan(from, span)
  return {
    isRecorded: span.isRecording(),
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
