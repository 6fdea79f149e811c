import { describe, expect, test } from 'vitest'
import { readInvoiceSettings } from '../../src/core/payments/invoice-settings.ts'
import { invoiceEnvironment, paymentEnvironment } from '../../tools/launcher/start/gateway-environment.ts'

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
    expect(paymentEnvironment(environment, { host: '127.0.0.1', onlySimulated: false })).toEqual(expected)
  })

  test.each([
    ['127.0.0.1', false, true],
    ['::1', false, true],
    ['localhost', false, true],
    ['0.0.0.0', true, true],
    ['0.0.0.0', false, false],
    ['::', false, false],
    ['192.168.1.4', false, false],
  ])('listening at %s with onlySimulated %s, the development rail is on: %s', (host, onlySimulated, on) => {
    expect(paymentEnvironment({}, { host, onlySimulated })).toEqual(
      on ? { PAYMENTS_DEVELOPMENT_RAIL: 'true' } : {},
    )
  })
})

test('an example issues invoices beside the development rail, unless the environment names an issuer', () => {
  const rail = { PAYMENTS_DEVELOPMENT_RAIL: 'true' }
  const problems: string[] = []
  expect(readInvoiceSettings(invoiceEnvironment({}, rail), problems)).toMatchObject({
    issuer: { name: 'Example Gateway Ltd' },
  })
  expect(problems).toEqual([])
  expect(invoiceEnvironment({}, {})).toEqual({})
  expect(invoiceEnvironment({ INVOICE_ISSUER_NAME: 'Acme' }, rail)).toEqual({})
})
