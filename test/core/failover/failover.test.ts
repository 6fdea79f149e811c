import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AttemptFailure,
  attemptFailure,
  FAILURE_KINDS,
  type FailureKind,
} from '../../../src/core/failover/attempt-failure.ts'
import { giveUpNow, nextStep } from '../../../src/core/failover/failover.ts'
import type { FailoverState, PastAttempt, Route } from '../../../src/core/failover/failover-state.ts'

const NOW = 1_000_000

const route = (modelId = 'm', health: Route['health'] = { kind: 'ready' }, contextLength = 8_000): Route => ({
  modelId,
  contextLength,
  health,
})

const failed = (routeIndex: number, kind: FailureKind, parts: Partial<AttemptFailure> = {}): PastAttempt => ({
  routeIndex,
  failure: attemptFailure(kind, '', parts),
  endedAt: NOW,
})

const state = (
  routes: Route[],
  attempts: PastAttempt[] = [],
  changes: Partial<FailoverState> = {},
): FailoverState => ({
  routes,
  attempts,
  relayed: { kind: 'nothing' },
  maxAttempts: 4,
  waitedMs: 0,
  hidesTarget: false,
  nowMs: NOW,
  deadlineMs: NOW + 60_000,
  random: () => 0.5,
  ...changes,
})

const tries = (routeIndex: number, more: object = {}) => ({ kind: 'try', routeIndex, ...more })
const givesUp = (code: string, more: object = {}) => ({ kind: 'give-up', error: { code, ...more } })

describe('before the first attempt', () => {
  test('the first route of the plan comes first, at once', () => {
    expect(nextStep(state([route(), route()]))).toEqual(tries(0, { afterMs: 0, lastChance: false }))
  })

  test('the only route is given more patience', () => {
    expect(nextStep(state([route()]))).toMatchObject({ lastChance: true })
  })

  test('routes that are down, rate limited or gone are passed over, a probe is not', () => {
    const routes = [
      route('a', { kind: 'down', untilMs: NOW + 1 }),
      route('b', { kind: 'gone' }),
      route('c', { kind: 'rate-limited', untilMs: NOW + 10_000 }),
      route('d', { kind: 'probe' }),
    ]
    expect(nextStep(state(routes))).toMatchObject(tries(3, { afterMs: 0 }))
  })

  test('a rate-limited route is waited for when no other is left', () => {
    const step = nextStep(state([route('a', { kind: 'rate-limited', untilMs: NOW + 2_000 })]))
    expect(step).toMatchObject(tries(0))
    expect(step.kind === 'try' && step.afterMs).toBeGreaterThanOrEqual(2_000)
  })

  test('all unhealthy is 503 with the time the first is back', () => {
    const routes = [
      route('a', { kind: 'down', untilMs: NOW + 9_000 }),
      route('b', { kind: 'down', untilMs: NOW + 3_500 }),
    ]
    expect(nextStep(state(routes))).toMatchObject(givesUp('no_provider_available', { retryAfterSeconds: 4 }))
    expect(nextStep(state([route('a', { kind: 'gone' })]))).toMatchObject(givesUp('no_provider_available'))
  })

  test('a call that is over its time is not tried', () => {
    expect(nextStep(state([route()], [], { deadlineMs: NOW }))).toMatchObject(givesUp('request_timeout'))
  })
})

describe('a list of models', () => {
  const routes = [route('a'), route('a'), route('a'), route('b'), route('b'), route('c')]
  const order = (maxAttempts: number): number[] => {
    const attempts: PastAttempt[] = []
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const step = nextStep(state(routes, attempts, { maxAttempts }))
      if (step.kind === 'try') attempts.push(failed(step.routeIndex, 'connect'))
    }
    return attempts.map(({ routeIndex }) => routeIndex)
  }

  test('gets an attempt at every model, in order, however many offers the first has', () => {
    expect(order(6)).toEqual([0, 1, 2, 3, 4, 5])
    expect(order(5)).toEqual([0, 1, 2, 3, 5])
    expect(order(4)).toEqual([0, 1, 3, 5])
    expect(order(3)).toEqual([0, 3, 5])
  })

  test('keeps no attempt for a model whose offers are down', () => {
    const down = routes.map((one, index) =>
      index > 2 ? route(one.modelId, { kind: 'down', untilMs: NOW + 5_000 }) : one,
    )
    const step = nextStep(state(down, [failed(0, 'server-error')], { maxAttempts: 3 }))
    expect(step).toMatchObject(tries(1))
  })
})

describe('before a model is left for another', () => {
  const routes = [route('a'), route('b')]
  const PASSING = ['server-error', 'reset', 'rate-limited', 'broken-stream'] as const

  test.each(PASSING)('the route is asked once more after %s, with a backoff of 2.5 s at most', (kind) => {
    const once = [failed(0, kind)]
    expect(nextStep(state(routes, once))).toEqual(tries(0, { afterMs: 200, lastChance: false }))
    expect(nextStep(state(routes, [...once, failed(0, kind)]))).toMatchObject(tries(1, { afterMs: 0 }))
    const late = Array.from({ length: 9 }, (_, index) => failed(index + 2, kind))
    const many = [...routes, ...late.map(() => route('c'))]
    const step = nextStep(state(many, [...late, failed(0, kind)], { maxAttempts: 16, random: () => 0.999 }))
    expect(step).toMatchObject(tries(0))
    expect(step.kind === 'try' && step.afterMs).toBeLessThan(2_500)
  })

  test.each(['connect', 'silent', 'stalled', 'refused', 'unreadable', 'empty-answer'] as const)(
    'the next model comes at once after %s',
    (kind) => {
      expect(nextStep(state(routes, [failed(0, kind)]))).toMatchObject(tries(1, { afterMs: 0 }))
    },
  )

  test('a rate limit is waited for if it ends within 2.5 s', () => {
    const limited = (retryAfterMs: number) => [failed(0, 'rate-limited', { retryAfterMs })]
    const steady = { random: () => 0 }
    expect(nextStep(state(routes, limited(2_500), steady))).toMatchObject(tries(0, { afterMs: 2_500 }))
    expect(nextStep(state(routes, limited(2_501), steady))).toMatchObject(tries(1, { afterMs: 0 }))
    const again = [...limited(1_000), ...limited(1_000)]
    expect(nextStep(state(routes, again, steady))).toMatchObject(tries(1, { afterMs: 0 }))
  })

  test('a rate limit that another call met counts alike', () => {
    const limitedFor = (ms: number) => [route('a', { kind: 'rate-limited', untilMs: NOW + ms }), route('b')]
    const steady = { random: () => 0 }
    expect(nextStep(state(limitedFor(1_500), [], steady))).toMatchObject(tries(0, { afterMs: 1_500 }))
    expect(nextStep(state(limitedFor(4_000), [], steady))).toMatchObject(tries(1, { afterMs: 0 }))
  })

  test('its other offers come first, at once, and one of them all is asked once more', () => {
    const offers = [route('a'), route('a'), route('b')]
    const first = [failed(0, 'server-error')]
    expect(nextStep(state(offers, first))).toMatchObject(tries(1, { afterMs: 0 }))
    const both = [...first, failed(1, 'server-error')]
    expect(nextStep(state(offers, both))).toMatchObject(tries(0))
    expect(nextStep(state(offers, [...both, failed(0, 'server-error')]))).toMatchObject(tries(2))
  })

  test('it is not asked again where an attempt would be missing for the models after it', () => {
    const attempts = [failed(0, 'server-error')]
    expect(nextStep(state(routes, attempts, { maxAttempts: 2 }))).toMatchObject(tries(1, { afterMs: 0 }))
  })
})

describe('after a failure', () => {
  const RETRYABLE = [
    'connect',
    'reset',
    'server-error',
    'rate-limited',
    'broken-stream',
    'unreadable',
  ] as const

  test.each(RETRYABLE)('%s: another route at once', (kind) => {
    expect(nextStep(state([route(), route()], [failed(0, kind)]))).toMatchObject(tries(1, { afterMs: 0 }))
  })

  test.each(RETRYABLE)(
    '%s: one retry on the only route, after backoff with full jitter, then no more',
    (kind) => {
      const routes = [route()]
      expect(nextStep(state(routes, [failed(0, kind)]))).toMatchObject(tries(0, { afterMs: 200 }))
      expect(nextStep(state(routes, [failed(0, kind)], { random: () => 0 }))).toMatchObject(
        tries(0, { afterMs: 0 }),
      )
      expect(nextStep(state(routes, [failed(0, kind), failed(0, kind)]))).toMatchObject({ kind: 'give-up' })
    },
  )

  test('429 with Retry-After: another route, or that long on the same one', () => {
    const limited = failed(0, 'rate-limited', { httpStatus: 429, retryAfterMs: 2_000 })
    expect(nextStep(state([route(), route()], [limited]))).toMatchObject(tries(1, { afterMs: 0 }))
    expect(nextStep(state([route()], [limited], { random: () => 0 }))).toMatchObject(
      tries(0, { afterMs: 2_000 }),
    )
  })

  test('429 with Retry-After beyond the deadline is 503 with Retry-After', () => {
    const limited = failed(0, 'rate-limited', { retryAfterMs: 30_000 })
    expect(nextStep(state([route()], [limited], { deadlineMs: NOW + 20_000 }))).toMatchObject(
      givesUp('no_provider_available', { retryAfterSeconds: 30 }),
    )
  })

  test('a Retry-After is waited for up to 10 s in all, then 503 with Retry-After', () => {
    const limited = (retryAfterMs: number) => [failed(0, 'rate-limited', { retryAfterMs })]
    const late = { random: () => 0.999 }
    expect(nextStep(state([route()], limited(10_000), late))).toMatchObject(tries(0, { afterMs: 10_000 }))
    const tooLong = nextStep(state([route()], limited(10_001)))
    expect(tooLong).toMatchObject(givesUp('no_provider_available', { retryAfterSeconds: 11 }))
    expect(nextStep(state([route()], limited(6_000), { waitedMs: 5_000 }))).toMatchObject(
      givesUp('no_provider_available', { retryAfterSeconds: 6 }),
    )
  })

  test('what is back later than the call may wait makes it 503, whatever else failed', () => {
    const routes = [route('a', { kind: 'rate-limited', untilMs: NOW + 30_000 }), route('a')]
    for (const kind of ['refused', 'silent'] as const) {
      expect(nextStep(state(routes, [failed(1, kind)]))).toMatchObject(
        givesUp('no_provider_available', { retryAfterSeconds: 30 }),
      )
    }
  })

  test('no text points to a header: within a stream there is none', () => {
    const { error } = nextStep(state([route('a', { kind: 'down', untilMs: NOW + 9_000 })])) as {
      error: { message: string }
    }
    expect(error.message).toContain('Retry in 9 s.')
    expect(error.message).not.toMatch(/header|Retry-After/i)
  })

  test('a refused prefill: the same route once more at once, and no attempt is counted', () => {
    const attempts = [failed(0, 'broken-stream'), failed(1, 'prefill-refused')]
    const relayed = { kind: 'repeatable', routeIndex: 0 } as const
    const routes = [route(), route(), route()]
    expect(nextStep(state(routes, attempts, { relayed, maxAttempts: 2 }))).toMatchObject(
      tries(1, { afterMs: 0 }),
    )
    expect(
      nextStep(state(routes, [...attempts, failed(1, 'bad-request')], { relayed, maxAttempts: 3 })),
    ).toMatchObject(tries(2, { afterMs: 0 }))
  })

  test('a 400 after another provider took the request is that provider’s alone', () => {
    const attempts = [failed(0, 'broken-stream'), failed(1, 'bad-request')]
    expect(nextStep(state([route(), route(), route()], attempts))).toMatchObject(tries(2, { afterMs: 0 }))
    const [lone, other] = [route(), route()]
    expect(
      nextStep(state([lone, other], [...attempts, failed(0, 'broken-stream')], { maxAttempts: 3 })),
    ).toMatchObject(givesUp('all_providers_failed'))
    expect(nextStep(state([lone, other], attempts, { maxAttempts: 2 }))).toMatchObject(
      givesUp('all_providers_failed'),
    )
  })

  test('the shortest of several Retry-After waits is taken', () => {
    const attempts = [
      failed(0, 'rate-limited', { retryAfterMs: 9_000 }),
      failed(1, 'rate-limited', { retryAfterMs: 3_000 }),
    ]
    expect(nextStep(state([route(), route()], attempts, { random: () => 0 }))).toMatchObject(
      tries(1, { afterMs: 3_000 }),
    )
  })

  test.each(['silent', 'stalled'] as const)('%s: onward, never the same route again', (kind) => {
    expect(nextStep(state([route(), route()], [failed(0, kind)]))).toMatchObject(tries(1))
    expect(nextStep(state([route()], [failed(0, kind)]))).toMatchObject(givesUp('upstream_timeout'))
  })

  test('refused: onward, and 502 when nothing is left', () => {
    const refused = failed(0, 'refused', { httpStatus: 401 })
    expect(nextStep(state([route(), route()], [refused]))).toMatchObject(tries(1))
    expect(nextStep(state([route()], [refused]))).toMatchObject(givesUp('all_providers_failed'))
  })

  test('context length: never the same model, onward only to a larger window, else 400', () => {
    const routes = [
      route('small', { kind: 'ready' }, 8_000),
      route('small', { kind: 'ready' }, 8_000),
      route('same-size', { kind: 'ready' }, 8_000),
      route('large', { kind: 'ready' }, 128_000),
    ]
    const tooLong = failed(0, 'context-length', { httpStatus: 400 })
    expect(nextStep(state(routes, [tooLong]))).toMatchObject(tries(3))
    expect(nextStep(state(routes.slice(0, 3), [tooLong]))).toMatchObject(givesUp('context_length_exceeded'))
    expect(
      nextStep(state(routes, [tooLong, failed(3, 'server-error'), failed(3, 'server-error')])),
    ).toMatchObject(givesUp('all_providers_failed'))
  })

  test('content policy and other 400s end the call, with words of our own', () => {
    const routes = [route(), route()]
    const policy = nextStep(state(routes, [failed(0, 'content-policy', { hint: 'violence' })]))
    expect(policy).toMatchObject(givesUp('content_policy_violation'))
    expect(policy.kind === 'give-up' && policy.error.message).toContain('violence')
    const bad = nextStep(state(routes, [failed(0, 'bad-request', { hint: 'temperature' })]))
    expect(bad).toMatchObject(givesUp('invalid_request'))
    expect(bad.kind === 'give-up' && bad.error.message).toContain('`temperature`')
  })

  test('what one server lacks another may have: onward, and 400 when nothing is left', () => {
    const lacking = failed(0, 'bad-request', { httpStatus: 500, hint: 'messages' })
    expect(nextStep(state([route(), route()], [lacking]))).toMatchObject(tries(1, { afterMs: 0 }))
    expect(nextStep(state([route()], [lacking]))).toMatchObject(givesUp('invalid_request'))
  })

  test('an answer whose files could not be stored ends the call: the next would cost as much again', () => {
    const routes = [route(), route()]
    expect(nextStep(state(routes, [failed(0, 'not-stored')]))).toMatchObject(
      givesUp('overloaded', { retryAfterSeconds: 5 }),
    )
    expect(nextStep(state(routes, [failed(0, 'account-full')]))).toMatchObject(
      givesUp('concurrency_limit_exceeded', { retryAfterSeconds: 1 }),
    )
  })

  test('all rate limited is 503, a mixture is 502, all in vain is 504', () => {
    const both = [route(), route()]
    const end = (...kinds: FailureKind[]) =>
      nextStep(
        state(
          both,
          kinds.map((kind, index) => failed(index % 2, kind)),
          { maxAttempts: kinds.length },
        ),
      )
    expect(end('rate-limited', 'rate-limited')).toMatchObject(
      givesUp('no_provider_available', { retryAfterSeconds: 5 }),
    )
    expect(end('rate-limited', 'server-error')).toMatchObject(givesUp('all_providers_failed'))
    expect(end('server-error', 'silent')).toMatchObject(givesUp('all_providers_failed'))
    expect(end('silent', 'silent')).toMatchObject(givesUp('upstream_timeout'))
    expect(end('server-error', 'call-timeout')).toMatchObject(givesUp('upstream_timeout'))
  })

  test('names what the attempts met, each reason once, and no status where auto hides its target', () => {
    const attempts = [
      failed(0, 'server-error', { httpStatus: 529 }),
      failed(1, 'server-error', { httpStatus: 529 }),
      failed(0, 'broken-stream'),
      failed(1, 'refused', { httpStatus: 401 }),
    ]
    const message = (hidesTarget: boolean) => giveUpNow(state([route(), route()], attempts, { hidesTarget }))
    expect(message(false)).toMatchObject({
      message:
        'All providers failed (HTTP 529; the response was cut off; access refused by the provider). Retry with backoff.',
    })
    expect(message(true)).toMatchObject({
      message:
        'All providers failed (an error of the provider; the response was cut off; access refused by the provider). Retry with backoff.',
    })
  })

  test('the deadline turns any failure into 504', () => {
    expect(
      nextStep(state([route(), route()], [failed(0, 'server-error')], { deadlineMs: NOW })),
    ).toMatchObject(givesUp('upstream_timeout'))
  })

  test('a spent retry budget ends with what the call has', () => {
    expect(giveUpNow(state([route(), route()], [failed(0, 'server-error')]))).toMatchObject({
      code: 'all_providers_failed',
    })
  })
})

describe('after content was relayed', () => {
  const text = { kind: 'repeatable', routeIndex: 0 } as const
  const routes = [route('m'), route('other'), route('m')]

  test('the model that began is asked first, then the others of the list', () => {
    const attempts = [failed(0, 'broken-stream')]
    expect(nextStep(state(routes, attempts, { relayed: text }))).toMatchObject(tries(2, { afterMs: 0 }))
    const differs = [...attempts, failed(2, 'rescue-mismatch')]
    expect(nextStep(state(routes, differs, { relayed: text }))).toMatchObject(tries(0))
    const both = [...differs, failed(0, 'broken-stream')]
    expect(nextStep(state(routes, both, { relayed: text }))).toMatchObject(tries(1, { afterMs: 0 }))
  })

  test('another model on whose side the client’s BYOK key is, or is not, never takes over', () => {
    const attempts = [failed(0, 'stalled')]
    const other = { ...route('other'), providerKeyId: 'pkey_1' }
    expect(nextStep(state([route('m'), other], attempts, { relayed: text }))).toMatchObject({
      kind: 'give-up',
    })
    const same = { ...route('m'), providerKeyId: 'pkey_1' }
    expect(nextStep(state([route('m'), same], attempts, { relayed: text }))).toMatchObject(tries(1))
  })

  test('an offer that says something else is not asked again', () => {
    const attempts = [failed(0, 'stalled'), failed(1, 'rescue-mismatch')]
    expect(nextStep(state([route(), route()], attempts, { relayed: text }))).toMatchObject(
      givesUp('all_providers_failed'),
    )
  })

  test('after tool calls or a refusal there is no rescue', () => {
    const attempts = [failed(0, 'broken-stream')]
    expect(nextStep(state([route(), route()], attempts, { relayed: { kind: 'more' } }))).toMatchObject(
      givesUp('all_providers_failed'),
    )
  })
})

describe('whatever happens', () => {
  const health: fc.Arbitrary<Route['health']> = fc.oneof(
    fc.constant({ kind: 'ready' } as const),
    fc.constant({ kind: 'probe' } as const),
    fc.constant({ kind: 'gone' } as const),
    fc.nat(90_000).map((ms) => ({ kind: 'down', untilMs: NOW + ms }) as const),
    fc.nat(90_000).map((ms) => ({ kind: 'rate-limited', untilMs: NOW + ms }) as const),
  )
  const routes = fc.array(
    fc.record({
      modelId: fc.constantFrom('a', 'b', 'c'),
      contextLength: fc.constantFrom(8_000, 128_000),
      health,
    }),
    { minLength: 1, maxLength: 6 },
  )
  const failure = fc
    .record({ kind: fc.constantFrom(...FAILURE_KINDS), retryAfterMs: fc.option(fc.nat(90_000)) })
    .map(({ kind, retryAfterMs }) => {
      const isLimit = kind === 'rate-limited'
      return attemptFailure(kind, 'secret-provider', { retryAfterMs: isLimit ? retryAfterMs : null })
    })
  const failures = fc.array(failure, { minLength: 16, maxLength: 16 })

  /** Every step of a call whose attempts fail one by one, with a clock that its waits and attempts move on. */
  function play(all: Route[], failing: AttemptFailure[], changes: Partial<FailoverState>) {
    const attempts: PastAttempt[] = []
    const waits: number[] = []
    let [now, waitedMs] = [NOW, 0]
    for (;;) {
      const current = state(all, attempts, { ...changes, nowMs: now, waitedMs })
      const step = nextStep(current)
      if (step.kind === 'give-up') return { attempts, waits, error: step.error }
      now += step.afterMs
      waitedMs += step.afterMs
      waits.push(step.afterMs)
      expect(now).toBeLessThan(current.deadlineMs)
      attempts.push({ routeIndex: step.routeIndex, failure: failing[attempts.length]!, endedAt: now })
    }
  }

  test('a call ends within its attempts and its deadline, on routes that may be tried', () => {
    fc.assert(
      fc.property(routes, failures, fc.nat(90_000), (all, failing, ms) => {
        const { attempts, error } = play(all, failing, { deadlineMs: NOW + ms })
        expect(JSON.stringify(error)).not.toContain('secret-provider')
        for (const { routeIndex } of attempts)
          expect(['down', 'gone']).not.toContain(all[routeIndex]!.health.kind)
        const counted = attempts.filter((attempt) => attempt.failure.kind !== 'prefill-refused')
        expect(counted.length).toBeLessThanOrEqual(4)
      }),
    )
  })

  test('no silent route is asked twice, and no model is repeated twice before another is asked', () => {
    fc.assert(
      fc.property(routes, failures, (all, failing) => {
        const { attempts } = play(all, failing, { maxAttempts: 8 })
        const visits = new Map<string, number[]>()
        for (const [at, { routeIndex, failure }] of attempts.entries()) {
          const later = attempts.slice(at + 1).filter((other) => other.routeIndex === routeIndex)
          if (failure.kind === 'silent' || failure.kind === 'stalled') expect(later).toEqual([])
          if (failure.kind === 'prefill-refused') continue
          const { modelId } = all[routeIndex]!
          visits.set(modelId, [...(visits.get(modelId) ?? []), routeIndex])
          const untried = all.some(
            ({ modelId: other, health: { kind } }) =>
              !visits.has(other) && (kind === 'ready' || kind === 'probe'),
          )
          const seen = visits.get(modelId)!
          const contextLength = attempts.some((attempt) => attempt.failure.kind === 'context-length')
          if (untried && !contextLength) expect(seen.length - new Set(seen).size).toBeLessThanOrEqual(1)
        }
      }),
    )
  })

  test('its waits for rate limits come to 10 s at most, all before it counted', () => {
    fc.assert(
      fc.property(routes, failures, fc.constantFrom(0, 0.5, 0.999), (all, failing, drawn) => {
        const { waits } = play(all, failing, { maxAttempts: 8, random: () => drawn })
        let waited = 0
        for (const ms of waits) {
          if (ms > 2_500) expect(waited + ms).toBeLessThanOrEqual(10_000)
          waited += ms
        }
      }),
    )
  })
})
