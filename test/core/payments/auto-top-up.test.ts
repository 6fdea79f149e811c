import { expect, test } from 'vitest'
import { monthStartMs, nextMonthMs } from '../../../src/core/kernel/time.ts'
import {
  type AutoTopUpFacts,
  type AutoTopUpSettings,
  autoTopUpStep,
  type ChargeAttempt,
} from '../../../src/core/payments/auto-top-up.ts'
import { cardFailure, FAILURES_OF_THE_CARD } from '../../../src/core/payments/card-failure.ts'

const NOW = Date.parse('2027-01-31T23:00:00Z')
const MINUTE = 60_000
const SETTINGS: AutoTopUpSettings = {
  enabled: true,
  thresholdPico: 5n,
  amountPico: 25n,
  monthlyMaxPico: 100n,
}
const DECLINED = 'the card was declined (insufficient funds)'
const attempt = (state: ChargeAttempt['state'], minutesAgo: number, failureReason: string | null = null) => ({
  state,
  failureReason,
  createdAtMs: NOW - minutesAgo * MINUTE,
})
const failed = (minutesAgo: number, reason: string = DECLINED) => attempt('failed', minutesAgo, reason)
const BEFORE_ALL = { resumedAtMs: 0, declinesMs: [] }
const step = (facts: Partial<AutoTopUpFacts>) =>
  autoTopUpStep(SETTINGS, {
    ...{ spendablePico: 4n, spentPico: 0n, attempts: [], nowMs: NOW, ...BEFORE_ALL },
    ...facts,
  })

test('a balance below the threshold is topped up, one at the threshold is not', () => {
  expect(step({})).toEqual({ kind: 'charge' })
  expect(step({ spendablePico: 5n })).toEqual({ kind: 'wait', untilMs: null })
})

test.each(['created', 'pending'] as const)('while a charge is %s there is no other', (state) => {
  expect(step({ attempts: [attempt(state, 600)] })).toEqual({ kind: 'wait', untilMs: null })
})

test('a declined card is tried three times, at growing distances, and then no more', () => {
  expect(step({ attempts: [failed(9)] })).toEqual({ kind: 'wait', untilMs: NOW + MINUTE })
  expect(step({ attempts: [failed(10)] })).toEqual({ kind: 'charge' })
  expect(step({ attempts: [failed(59), failed(70)] })).toEqual({ kind: 'wait', untilMs: NOW + MINUTE })
  expect(step({ attempts: [failed(60), failed(70)] })).toEqual({ kind: 'charge' })
  const three = [failed(6_000), failed(6_100), attempt('expired', 6_200)]
  expect(step({ attempts: three })).toEqual({ kind: 'pause', reason: 'payment_failed' })
})

test('failures before a success are forgotten', () => {
  const attempts = [failed(10), attempt('settled', 100), failed(200), failed(300)]
  expect(step({ attempts })).toEqual({ kind: 'charge' })
})

test('charges of an account are five minutes apart, whatever its balance', () => {
  expect(step({ attempts: [attempt('settled', 4)] })).toEqual({ kind: 'wait', untilMs: NOW + MINUTE })
  expect(step({ attempts: [attempt('settled', 5)] })).toEqual({ kind: 'charge' })
})

test('saving resumes top-ups, and forgets neither the last charge nor the declines of a day', () => {
  const { expired_card } = FAILURES_OF_THE_CARD
  const saved = { resumedAtMs: NOW - MINUTE }
  expect(step({ ...saved, attempts: [failed(2, expired_card)] })).toEqual({
    kind: 'wait',
    untilMs: NOW + 3 * MINUTE,
  })
  expect(step({ ...saved, attempts: [failed(6, expired_card)] })).toEqual({ kind: 'charge' })
  const attempts = [failed(60), failed(70), failed(80)]
  const declinesMs = attempts.map(({ createdAtMs }) => createdAtMs)
  expect(step({ ...saved, attempts, declinesMs })).toEqual({
    kind: 'wait',
    untilMs: NOW + (24 * 60 - 80) * MINUTE,
  })
  expect(step({ ...saved, attempts, declinesMs: declinesMs.slice(1) })).toEqual({ kind: 'charge' })
})

test('what only the holder can mend pauses at once, whatever the balance', () => {
  const { authentication_required, expired_card } = FAILURES_OF_THE_CARD
  expect(step({ spendablePico: 50n, attempts: [failed(0, authentication_required)] })).toEqual({
    kind: 'pause',
    reason: 'authentication_required',
  })
  expect(step({ attempts: [failed(0, expired_card)] })).toEqual({ kind: 'pause', reason: 'payment_failed' })
})

test('automatic top-ups never exceed the maximum of a month, which resets with the next month', () => {
  expect(step({ spentPico: 75n })).toEqual({ kind: 'charge' })
  const untilMs = Date.parse('2027-02-01T00:00:00Z')
  expect(step({ spentPico: 76n })).toEqual({ kind: 'monthly_maximum', untilMs })
  expect(nextMonthMs(Date.parse('2027-12-31T23:59:59.999Z'))).toBe(Date.parse('2028-01-01T00:00:00Z'))
  expect(monthStartMs(NOW)).toBe(Date.parse('2027-01-01T00:00:00Z'))
})

test('known decline codes have a sentence, and unknown texts are not shown', () => {
  expect(cardFailure('card_declined', 'insufficient_funds')).toBe(DECLINED)
  expect(cardFailure('authentication_required', null)).toBe(FAILURES_OF_THE_CARD.authentication_required)
  expect(cardFailure('card_declined', 'stolen_card')).toBe(FAILURES_OF_THE_CARD.refused_card)
  expect(cardFailure('expired_card', undefined)).toBe(FAILURES_OF_THE_CARD.expired_card)
  expect(cardFailure('<b>', '<i>')).toBe('the card was declined')
})
