import { expect, test } from 'vitest'
import type { MovingOffer, MovingProvider, OfferView, ProviderView } from '../../src/core/api/offers.ts'
import { offersAt, providersAt } from '../../web/lib/moving-figures.ts'

const counts = (success: number) => ({ success, failure: 0, rate_limited: 0, success_share: 1 })
const health = { state: 'down', breaker: 'open', level: 'offer', reason: 'failing', until: 'u' } as const

test('an offer that moves has its new figures, and one that no longer does is at rest', () => {
  const offer = (id: string) =>
    ({ id, model: 'm', health, last_minute: counts(5), last_ten_minutes: counts(9) }) as OfferView
  const moving = { id: 'a/x', health, last_minute: counts(7), last_ten_minutes: counts(8) } as MovingOffer
  const [moved, rested] = offersAt([offer('a/x'), offer('a/y')], [moving])
  expect(moved).toMatchObject({ model: 'm', last_minute: { success: 7 }, health: { state: 'down' } })
  expect(rested).toMatchObject({
    model: 'm',
    last_minute: { success: 0, success_share: null },
    health: { state: 'ready', breaker: 'closed', reason: null },
  })
})

test('a provider likewise, with all its offers ready', () => {
  const provider = (id: string) =>
    ({ id, name: id, offers: 3, health: { ready: 1, probe: 0, 'rate-limited': 0, down: 2 } }) as ProviderView
  const moving = { id: 'a', health: { ready: 2, probe: 1, 'rate-limited': 0, down: 0 } } as MovingProvider
  const [moved, rested] = providersAt([provider('a'), provider('b')], [moving])
  expect(moved).toMatchObject({ name: 'a', health: { ready: 2, probe: 1 } })
  expect(rested).toMatchObject({ health: { ready: 3, down: 0 }, breaker: { breaker: 'closed' } })
})
