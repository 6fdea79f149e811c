import { Counter, Histogram, type Registry } from 'prom-client'
import { type AttemptOutcome, outcomeName, reportedUsage } from '../../../core/calls/attempt-outcome.ts'
import type { AttemptRecord, Candidate } from '../../../core/calls/call-job.ts'
import type { CallContent } from '../../../core/calls/kinds/call-kinds.ts'
import type { Usage } from '../../../core/calls/usage.ts'
import { type HealthEffect, providerOfOffer } from '../../../core/failover/circuit-breaker.ts'
import { tokensPerSecond } from '../../../core/routing/measures.ts'
import type { MeasureLog } from '../../../offer-health/offer-measures.ts'
import { createGenAiMetrics } from '../../../platform/observability/genai-metrics.ts'
import type { AttemptPlan } from './attempt-plan.ts'
import { operationOf } from './attempt-span.ts'

const FIRST_TOKEN_SECONDS = [0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 30, 60, 180]
const TOKENS_PER_SECOND = [1, 5, 10, 20, 40, 60, 80, 100, 150, 200, 400, 800, 1_600]

export type AttemptMeter = ReturnType<typeof createAttemptMeter>

/**
 * Receives the durations of attempts at one worker, for the plans of later calls and for Prometheus. Labels are
 * providers and outcomes, whose number does not grow with calls.
 */
export function createAttemptMeter(log: MeasureLog, registry: Registry) {
  const attempts = new Counter({
    name: 'shuntyard_attempts_total',
    help: 'Attempts at providers, by how they ended: ok, cancelled, or the kind of failure; of providers with several keys by key.',
    labelNames: ['provider', 'outcome', 'key'],
    registers: [registry],
  })
  const firstToken = new Histogram({
    name: 'shuntyard_first_token_seconds',
    help: 'Time from the start of an attempt that succeeded to its first content.',
    labelNames: ['provider'],
    buckets: FIRST_TOKEN_SECONDS,
    registers: [registry],
  })
  const speed = new Histogram({
    name: 'shuntyard_tokens_per_second',
    help: 'Completion tokens a second of finished completions, from the first token on.',
    labelNames: ['provider'],
    buckets: TOKENS_PER_SECOND,
    registers: [registry],
  })

  const recordOperation = createGenAiMetrics(registry)

  return {
    /** An attempt is over, whether with our key or the client's. */
    operation(
      { offer }: AttemptPlan,
      content: CallContent,
      outcome: AttemptOutcome,
      durationMs: number,
    ): void {
      recordOperation({
        attributes: operationOf(offer, content),
        durationMs,
        errorType: outcome.kind === 'finished' ? null : outcomeName(outcome),
        usage: reportedUsage(outcome),
      })
    },
    /** An attempt with our key is over. */
    attempt(
      { offer }: AttemptPlan,
      { offerId, outcome, firstTokenMs, platformKeyId: key }: AttemptRecord,
      effect: HealthEffect,
    ): void {
      const provider = offer.provider.id
      attempts.inc({ provider, outcome, ...(key !== undefined && { key }) })
      // The end of a call by its client or its deadline says nothing about the offer.
      if (effect.kind === 'none') return
      log.ending(offerId, effect.kind === 'refused' ? 'failure' : effect.kind)
      if (effect.kind !== 'success' || firstTokenMs === null) return
      log.firstToken(offerId, firstTokenMs)
      firstToken.observe({ provider }, firstTokenMs / 1_000)
    },
    /** The attempt of this record produced a whole completion. */
    answer(
      { offerId, reasoning, tier }: Candidate,
      { startedAt, firstTokenMs, durationMs }: AttemptRecord,
      usage: Usage,
    ): void {
      log.cacheUse(offerId, usage)
      const { completionTokens } = usage
      if (firstTokenMs === null || tier?.name === 'flex') return
      const perSecond = tokensPerSecond({
        completionTokens,
        startedAt,
        firstTokenAt: startedAt + firstTokenMs,
        endedAt: startedAt + durationMs,
        reasoning,
      })
      if (perSecond === null) return
      log.speed(offerId, perSecond)
      speed.observe({ provider: providerOfOffer(offerId) }, perSecond)
    },
  }
}
