import { expect, test } from 'vitest'
import { byokFailure, providerKeyStatus } from '../../../src/core/routing/byok-key-state.ts'

test('a key is what its provider said of it last, and unchecked until it said anything', () => {
  const now = new Date()
  const fresh = { disabled: false, refusals: 0, failingSince: null, acceptedAt: null }
  expect(providerKeyStatus(fresh)).toBe('unchecked')
  expect(providerKeyStatus({ ...fresh, acceptedAt: now })).toBe('active')
  expect(providerKeyStatus({ ...fresh, acceptedAt: now, refusals: 1 })).toBe('refused')
  expect(providerKeyStatus({ ...fresh, refusals: 3, failingSince: now })).toBe('failing')
  expect(providerKeyStatus({ ...fresh, acceptedAt: now, disabled: true })).toBe('disabled')
})

test.each([
  ['ok', 200, null],
  ['cancelled', null, null],
  ['bad-request', 400, null],
  ['refused', 401, 'unauthorized'],
  ['refused', 400, 'unauthorized'],
  ['refused', 402, 'payment_required'],
  ['refused', 403, 'forbidden'],
  ['refused', 404, 'model_not_found'],
  ['refused', null, 'not_in_use'],
  ['rate-limited', 429, 'rate_limited'],
  ['key-unavailable', null, 'unavailable'],
  ['server-error', 500, 'provider_failed'],
])('an attempt that ended as %s with %s fails by reason of %s', (outcome, status, reason) => {
  expect(byokFailure(outcome, status)).toBe(reason)
})
