import { describe, expect, test } from 'vitest'
import { unchargedCost, unchargedCostStanding } from '../../../src/core/billing/uncharged-cost.ts'
import type { AttemptRecord, SettlementRecord } from '../../../src/core/calls/call-job.ts'

const attempt = (outcome: string, costPico?: string): AttemptRecord => ({
  offerId: 'alpha/large-1',
  outcome,
  httpStatus: null,
  startedAt: 0,
  firstTokenMs: null,
  durationMs: 1,
  ...(costPico !== undefined && { spent: { promptTokens: 1, completionTokens: 0, costPico } }),
})

const costOf = (status: SettlementRecord['status'], ...attempts: AttemptRecord[]) =>
  unchargedCost({ status, attempts } as SettlementRecord)

describe('the uncharged cost of a call', () => {
  test('is what its attempts spent, and nothing for those that spent nothing', () => {
    expect(costOf('completed', attempt('silent', '7'), attempt('refused'), attempt('ok'))).toEqual({
      unchargedPico: 7n,
      causedPico: 0n,
    })
  })

  test.each([
    ['cancelled', 'cancelled', 5n],
    ['cancelled', 'failed', 0n],
    ['cancelled', 'interrupted', 0n],
    ['empty-answer', 'failed', 0n],
    ['call-timeout', 'failed', 5n],
    ['account-full', 'failed', 5n],
    ['not-stored', 'failed', 0n],
    ['silent', 'failed', 0n],
    ['stalled', 'completed', 0n],
    ['broken-stream', 'completed', 0n],
  ] as const)(
    'an attempt that ended as %s of a %s call is the doing of its client: %s',
    (outcome, status, caused) => {
      expect(costOf(status, attempt(outcome, '5'))).toEqual({ unchargedPico: 5n, causedPico: caused })
    },
  )
})

test.each([
  [0n, 100n, 'normal'],
  [0n, 101n, 'slowed'],
  [0n, 200n, 'slowed'],
  [0n, 201n, 'stopped'],
  [400n, 200n, 'normal'],
  [400n, 201n, 'slowed'],
  [400n, 401n, 'stopped'],
])('an account that was charged %s and caused %s is %s', (chargedPico, causedPico, standing) => {
  expect(unchargedCostStanding({ chargedPico, causedPico }, { percent: 25, floorPico: 100n })).toBe(standing)
})
