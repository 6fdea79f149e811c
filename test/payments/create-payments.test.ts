import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { createPaymentRails } from '../../src/payments/create-payments.ts'
import type { Payment } from '../../src/payments/payment-store.ts'

const CONFIG = { stripe: null, paypal: null, paymentsDevelopmentRail: true, publicUrl: null, port: 8080 }
const logger = pino({ level: 'silent' })

describe('createPaymentRails', () => {
  test('the development rail is left out where it is refused', async () => {
    expect([...(await createPaymentRails(CONFIG, () => 'reachable', logger)).keys()]).toEqual([])
    expect([...(await createPaymentRails(CONFIG, () => null, logger)).keys()]).toEqual(['development'])
  })

  test('it opens no checkout once a real provider came into the catalog', async () => {
    let refusal: string | null = null
    const rail = (await createPaymentRails(CONFIG, () => refusal, logger)).get('development')
    const payment = { id: 'pay_1' } as Payment
    expect(await rail?.openCheckout(payment)).toMatchObject({ checkoutUrl: null })
    refusal = 'a real provider is set up now'
    await expect(rail?.openCheckout(payment)).rejects.toThrow('a real provider')
  })
})
