import { Counter, Histogram, type Registry } from 'prom-client'
import type { CallEnvelope, SettlementRecord } from '../../core/calls/call-job.ts'
import type { ProcessReport } from '../../platform/observability/process-report.ts'
import { inSpan, queueAttributes, tracesAreOn } from '../../platform/observability/tracing.ts'
import { DISPATCH_QUEUE, SETTLEMENT_QUEUE } from '../../platform/queues/queues.ts'
import type { AttemptRequest } from '../../providers/provider.ts'
import type { AttemptOutcome, AttemptPlan } from '../attempts/attempt.ts'

/** A batch links to this many of its calls' traces at the most. */
const MAX_LINKS = 128

/** One claim of a call by this worker, as a part of the trace of its request. */
export function inCallSpan<T>(envelope: CallEnvelope, claim: number, run: () => Promise<T>): Promise<T> {
  if (!tracesAreOn()) return run()
  const attributes = {
    ...queueAttributes(DISPATCH_QUEUE, 'process', envelope.id),
    'switchyard.call.claim': claim,
    'switchyard.call.candidates': envelope.candidates.length,
  }
  const options = { kind: 'CONSUMER', attributes, parent: envelope.traceparent } as const
  return inSpan(`process ${DISPATCH_QUEUE}`, options, run)
}

/**
 * One attempt at a provider, with the attributes of the GenAI semantic conventions. Never text of the call.
 * Source: OpenTelemetry semantic conventions, "Semantic conventions for generative client AI spans".
 */
export function inAttemptSpan(
  { candidate, offer }: AttemptPlan,
  parameters: AttemptRequest['parameters'],
  run: () => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  if (!tracesAreOn()) return run()
  const { hostname, port, protocol } = new URL(offer.provider.baseUrl)
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': PROVIDER_NAMES[offer.provider.id] ?? offer.provider.id,
    'gen_ai.request.model': offer.upstreamModel,
    'gen_ai.request.max_tokens': candidate.completionLimit,
    'gen_ai.request.temperature': parameters.temperature,
    'gen_ai.request.top_p': parameters.top_p,
    'gen_ai.request.stream': true,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'switchyard.offer.id': offer.id,
  }
  const startedAt = Date.now()
  return inSpan(`chat ${offer.upstreamModel}`, { kind: 'CLIENT', attributes }, async (span) => {
    const outcome = await run()
    const { httpStatus, firstTokenAt } = outcome.end
    span.set({
      'http.response.status_code': httpStatus ?? undefined,
      'gen_ai.response.time_to_first_chunk':
        firstTokenAt === null ? undefined : Math.max(0, firstTokenAt - startedAt) / 1000,
    })
    if (outcome.kind === 'failed') span.fail(outcome.failure.kind)
    if (outcome.kind === 'cancelled') span.fail('cancelled')
    if (outcome.kind === 'finished') {
      span.set({
        'gen_ai.response.finish_reasons': [outcome.reason],
        'gen_ai.usage.input_tokens': outcome.usage?.promptTokens,
        'gen_ai.usage.output_tokens': outcome.usage?.completionTokens,
      })
    }
    return outcome
  })
}

/** The settling of a batch, linked to the traces of its calls. */
export function inSettlementSpan<T>(records: readonly SettlementRecord[], run: () => Promise<T>): Promise<T> {
  if (!tracesAreOn()) return run()
  const links = records.flatMap((record) => record?.traceparent ?? []).slice(0, MAX_LINKS)
  const attributes = {
    ...queueAttributes(SETTLEMENT_QUEUE, 'process'),
    'messaging.batch.message_count': records.length,
  }
  return inSpan(`process ${SETTLEMENT_QUEUE}`, { kind: 'CONSUMER', attributes, links }, run)
}

/** Providers that the conventions know by another name than the catalog. */
const PROVIDER_NAMES: Record<string, string> = {
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
}

/** Notes a call that ended here, for metrics and for the operators' figures. In memory only. */
type CallMetrics = (record: SettlementRecord) => void

/** From no wait at all to the longest that is allowed by default. */
const WAIT_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

export function createCallMetrics(
  registry: Registry,
  report: Pick<ProcessReport, 'finished' | 'traffic'>,
): CallMetrics {
  const calls = new Counter({
    name: 'switchyard_calls_total',
    help: 'Calls that ended at this worker.',
    labelNames: ['status', 'error_code'],
    registers: [registry],
  })
  const queueWait = new Histogram({
    name: 'switchyard_call_queue_wait_seconds',
    help: 'From the admission of a call to its claim by a worker.',
    buckets: WAIT_BUCKETS_SECONDS,
    registers: [registry],
  })
  return ({ status, errorCode, admittedAt, claimedAt, usage, chargePico }) => {
    calls.inc({ status, error_code: errorCode ?? 'none' })
    if (claimedAt !== null) queueWait.observe(Math.max(0, claimedAt - admittedAt) / 1000)
    report.finished(status)
    report.traffic.add([
      [`calls:${status}`, 1n],
      ['prompt_tokens', BigInt(usage.promptTokens)],
      ['completion_tokens', BigInt(usage.completionTokens)],
      ['spend_pico', BigInt(chargePico)],
    ])
  }
}
