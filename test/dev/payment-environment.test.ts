import { describe, expect, test } from 'vitest'
import { paymentEnvironment } from '../../src/dev/start/payment-environment.ts'

describe('paymentEnvironment', () => {
  test.each([
    [{}, { PAYMENTS_DEVELOPMENT_RAIL: 'true' }],
    [{ NODE_ENV: 'production' }, {}],
    [{ STRIPE_SECRET_KEY: 'sk_test_x' }, {}],
    [{ PAYPAL_CLIENT_ID: 'x' }, {}],
    [{ PAYMENTS_DEVELOPMENT_RAIL: 'false' }, { PAYMENTS_DEVELOPMENT_RAIL: 'false' }],
    [
      { PAYMENTS_DEVELOPMENT_RAIL: 'true', STRIPE_SECRET_KEY: 'sk_test_x' },
      { PAYMENTS_DEVELOPMENT_RAIL: 'true' },
    ],
  ])('an environment of %o starts with %o', (environment, expected) => {
    expect(paymentEnvironment(environment)).toEqual(expected)
  })
})
