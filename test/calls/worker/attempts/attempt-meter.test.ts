import { Registry } from 'prom-client'
import { beforeEach, describe, expect, test } from 'vitest'
import { type AttemptMeter, createAttemptMeter } from '../../../../src/calls/worker/attempts/attempt-meter.ts'
import type { HealthEffect } from '../../../../src/core/failover/circuit-breaker.ts'
import {
  type BreakerBoard,
  exportBreakers,
} from '../../../../src/offer-health/circuit-breaker/breaker-board.ts'
import type { MeasureLog } from '../../../../src/offer-health/offer-measures.ts'
import { attemptRecordOf, candidateOf } from '../../../helpers/call-shapes.ts'
import { offer, provider } from '../../../helpers/planned-catalog.ts'
import { stubOf } from '../../../helpers/stub-of.ts'

const OFFER = offer(provider('acme'), 1, {}, 'org/large-1')
const CANDIDATE = candidateOf({ offerId: OFFER.id })
const PLAN = { candidate: CANDIDATE, offer: OFFER, lastChance: false, rescue: null }
const USAGE = { promptTokens: 2_000, completionTokens: 101, cachedTokens: 1_500 }
const record = (outcome: string) =>
  attemptRecordOf({ offerId: OFFER.id, outcome, firstTokenMs: 400, durationMs: 2_400 })

let logged: unknown[][]
let registry: Registry
let meter: AttemptMeter

beforeEach(() => {
  logged = []
  registry = new Registry()
  const log = {
    ending: (...what: unknown[]) => logged.push(['ending', ...what]),
    firstToken: (...what: unknown[]) => logged.push(['first-token', ...what]),
    cacheUse: (...what: unknown[]) => logged.push(['cache', ...what]),
    speed: (...what: unknown[]) => logged.push(['speed', ...what]),
    close: async () => undefined,
  }
  meter = createAttemptMeter(stubOf<MeasureLog>(log), registry)
})

describe('the meter of attempts', () => {
  test('the attempt meter reports end, first token and speed to the fleet and to Prometheus', async () => {
    meter.attempt(PLAN, record('ok'), { kind: 'success' })
    meter.answer(CANDIDATE, record('ok'), USAGE)
    expect(logged).toEqual([
      ['ending', OFFER.id, 'success'],
      ['first-token', OFFER.id, 400],
      ['cache', OFFER.id, USAGE],
      ['speed', OFFER.id, 50],
    ])
    const text = await registry.metrics()
    expect(text).toContain('shuntyard_attempts_total{provider="acme",outcome="ok"} 1')
    meter.attempt(PLAN, { ...record('ok'), platformKeyId: 'main' }, { kind: 'success' })
    expect(await registry.metrics()).toContain(
      'shuntyard_attempts_total{provider="acme",outcome="ok",key="main"} 1',
    )
    expect(text).toContain('shuntyard_first_token_seconds_sum{provider="acme"} 0.4')
    expect(text).toContain('shuntyard_tokens_per_second_sum{provider="acme"} 50')
  })

  test.each<[string, HealthEffect, unknown[][]]>([
    ['server-error', { kind: 'failure' }, [['ending', OFFER.id, 'failure']]],
    ['refused', { kind: 'refused', by: 'provider' }, [['ending', OFFER.id, 'failure']]],
    ['rate-limited', { kind: 'rate-limited', retryAfterMs: 5 }, [['ending', OFFER.id, 'rate-limited']]],
    ['cancelled', { kind: 'none' }, []],
  ])('counts an attempt that ended as %s, and measures nothing of it', async (outcome, effect, expected) => {
    meter.attempt(PLAN, record(outcome), effect)
    expect(logged).toEqual(expected)
    expect(await registry.metrics()).toContain(
      `shuntyard_attempts_total{provider="acme",outcome="${outcome}"} 1`,
    )
  })
})

describe('the exported breakers', () => {
  test('are those that are not closed', async () => {
    let state = [
      { subject: OFFER.id, breaker: 'open' as const, reason: 'failing' as const },
      { subject: 'beta', breaker: 'half-open' as const, reason: 'refused' as const },
      { subject: 'gamma/limited', breaker: 'closed' as const, reason: null },
    ]
    exportBreakers(stubOf<BreakerBoard>({ state: () => state }), registry)
    const text = await registry.metrics()
    expect(text).toContain(
      'shuntyard_offer_breaker_state{provider="acme",model="org/large-1",reason="failing"} 2',
    )
    expect(text).toContain('shuntyard_offer_breaker_state{provider="beta",model="",reason="refused"} 1')
    expect(text).not.toContain('gamma')
    state = []
    expect(await registry.metrics()).not.toContain('acme')
  })
})
