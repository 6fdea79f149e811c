import type { ProviderKeyVault } from '../../catalog/provider-key-vault.ts'
import type { AttemptRecord, CallEnvelope } from '../../core/calls/call-job.ts'
import { type HealthEffect, healthEffect } from '../../core/failover/attempt-failure.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { BreakerBoard, Probe } from '../../routing/circuit-breaker/breaker-board.ts'
import type { AttemptMeter } from './attempt-meter.ts'
import type { AttemptOutcome, AttemptPlan } from './attempt-plan.ts'
import { noteReception } from './byok-key.ts'

export interface ReportDependencies {
  board: Pick<BreakerBoard, 'report'>
  /** Hears what every attempt took. Absent: nobody measures. */
  meter?: AttemptMeter
  /** Clients' own keys. Absent: none can be had. */
  byokKeys?: ProviderKeyVault
  logger: Logger
}

/**
 * Tells everybody who learns from attempts how one ended, and logs what went wrong. What an attempt on the client's
 * own key shows is about that key: shared health and measures never hear of it.
 */
export function reportAttempt(
  plan: AttemptPlan,
  outcome: AttemptOutcome,
  record: AttemptRecord,
  probe: Probe | null,
  envelope: Pick<CallEnvelope, 'id' | 'requestId' | 'accountId'>,
  { board, meter, byokKeys, logger }: ReportDependencies,
): void {
  const { offerId, providerKeyId } = plan.candidate
  if (providerKeyId === undefined) {
    const effect = effectOf(outcome)
    board.report(offerId, effect, probe, envelope.accountId)
    meter?.attempt(plan, record, effect)
  } else if (byokKeys) {
    noteReception(providerKeyId, outcome, byokKeys)
  }
  logAttempt(plan, outcome, envelope, logger)
}

/** What an attempt says of the health of its offer; nothing, when nobody waited for its end. */
function effectOf(outcome: AttemptOutcome): HealthEffect {
  switch (outcome.kind) {
    case 'finished':
      return { kind: 'success' }
    case 'failed':
      return healthEffect(outcome.failure)
    case 'cancelled':
      return { kind: 'none' }
    default:
      return outcome satisfies never
  }
}

function logAttempt(
  { candidate: { offerId, providerKeyId } }: AttemptPlan,
  outcome: AttemptOutcome,
  { id, requestId }: Pick<CallEnvelope, 'id' | 'requestId'>,
  logger: Logger,
): void {
  const names = { callId: id, requestId, offerId }
  const { malformedEvents } = outcome.end
  if (malformedEvents > 0) {
    logger.warn({ ...names, malformedEvents }, 'events of a stream were unreadable and skipped')
  }
  if (outcome.kind !== 'failed') return
  const { kind, httpStatus, internal } = outcome.failure
  if (providerKeyId !== undefined) {
    // Nothing that the provider said: it may repeat the client's key.
    logger.info({ ...names, kind, httpStatus, providerKeyId }, "an attempt on a client's own key failed")
    return
  }
  // Of a provider that refuses us the breaker board raises the alarm, once.
  logger.warn({ ...names, kind, httpStatus, internal }, 'an attempt failed')
}
