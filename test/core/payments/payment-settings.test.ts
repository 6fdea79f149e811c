import { describe, expect, test } from 'vitest'
import { readPaymentSettings } from '../../../src/core/payments/payment-settings.ts'

const STRIPE = { STRIPE_SECRET_KEY: 'sk_test_x', STRIPE_WEBHOOK_SECRET: 'whsec_x' }
const PAYPAL = { PAYPAL_CLIENT_ID: 'id', PAYPAL_CLIENT_SECRET: 'secret', PAYPAL_WEBHOOK_ID: 'hook' }

const read = (environment: Record<string, string | undefined>) => {
  const problems: string[] = []
  const settings = readPaymentSettings(environment, problems)
  return { settings, problems }
}

describe('readPaymentSettings', () => {
  test('nothing set up is nothing to pay with, and no development rail', () => {
    const { settings, problems } = read({})
    expect(settings).toMatchObject({ stripe: null, paypal: null, paymentsDevelopmentRail: false })
    expect(problems).toEqual([])
  })

  test.each([{ STRIPE_SECRET_KEY: 'sk_test_x' }, { STRIPE_WEBHOOK_SECRET: 'x' }, { PAYPAL_CLIENT_ID: 'x' }])(
    'half a rail is refused: %o',
    (environment) => {
      expect(read(environment).problems).toHaveLength(1)
    },
  )

  test.each([
    ['in production', { NODE_ENV: 'production' }],
    ['beside a live secret key', { ...STRIPE, STRIPE_SECRET_KEY: 'sk_live_x' }],
    ['beside a live restricted key', { ...STRIPE, STRIPE_SECRET_KEY: 'rk_live_x' }],
    [
      'beside a live key at another address',
      { ...STRIPE, STRIPE_SECRET_KEY: 'sk_live_x', STRIPE_API_BASE: 'http://x' },
    ],
    ["beside PayPal's live API", PAYPAL],
  ])('the development rail is refused %s', (_name, environment) => {
    const { problems } = read({ ...environment, PAYMENTS_DEVELOPMENT_RAIL: 'true' })
    expect(problems).toEqual([expect.stringContaining('PAYMENTS_DEVELOPMENT_RAIL')])
  })

  test.each(['1', 'yes', 'TRUE'])('the development rail takes the word true, not %s', (word) => {
    const { settings, problems } = read({ PAYMENTS_DEVELOPMENT_RAIL: word })
    expect(settings.paymentsDevelopmentRail).toBe(false)
    expect(problems).toHaveLength(1)
  })

  test('the development rail goes with test keys', () => {
    const sandbox = { ...PAYPAL, PAYPAL_API_BASE: 'https://api-m.sandbox.paypal.com' }
    expect(read({ ...STRIPE, ...sandbox, PAYMENTS_DEVELOPMENT_RAIL: 'true' }).problems).toEqual([])
  })

  test.each([
    { TOP_UP_MIN_USD: '0' },
    { TOP_UP_MIN_USD: '50', TOP_UP_MAX_USD: '5' },
    { TOP_UP_MAX_USD: 'lots' },
    { STRIPE_API_BASE: 'ftp://x' },
    { PAYPAL_API_BASE: 'nonsense' },
  ])('nonsense is refused: %o', (environment) => {
    expect(read({ ...STRIPE, ...environment }).problems).toHaveLength(1)
  })
})
