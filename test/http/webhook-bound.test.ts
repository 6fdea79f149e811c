import { describe, expect, test } from 'vitest'
import { createWebhookBound } from '../../src/http/public/payment-webhooks.ts'

describe('webhooks whose rail has to be asked', () => {
  test('are not asked about for a network that has sent many forgeries', () => {
    const bound = createWebhookBound()
    for (let sent = 0; sent < 20; sent++) bound.enter('192.0.2.1')('forged')
    expect(() => bound.enter('192.0.2.1')).toThrow(/Too many webhooks/)
    bound.enter('192.0.2.2')('genuine')
  })

  test('have places that forgeries from everywhere cannot take from a network known to be genuine', () => {
    const bound = createWebhookBound()
    bound.enter('198.51.100.1')('genuine')
    for (let stranger = 1; stranger <= 20; stranger++) bound.enter(`192.0.2.${stranger}`)
    expect(() => bound.enter('192.0.2.99')).toThrow(/Too many webhooks/)
    expect(() => bound.enter('198.51.100.1')('genuine')).not.toThrow()
  })

  test('count an IPv6 client by its /64', () => {
    const bound = createWebhookBound()
    for (let sent = 0; sent < 20; sent++) bound.enter(`2001:db8:0:1::${sent}`)('forged')
    expect(() => bound.enter('2001:db8:0:1::ffff')).toThrow(/Too many webhooks/)
  })
})
