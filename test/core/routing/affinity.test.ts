import { describe, expect, test } from 'vitest'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { conversationHash } from '../../../src/core/calls/conversation-id.ts'
import type { Offer } from '../../../src/core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../../src/core/kernel/money.ts'
import { oncePer } from '../../../src/core/kernel/once-per.ts'
import type { OfferState } from '../../../src/core/routing/offer-preferences.ts'
import { planOf } from '../../helpers/plan-of.ts'
import { model, offer, provider, seeded, snapshot } from '../../helpers/planned-catalog.ts'

const LONG = 4_000
const CENT = 10_000

const offers = (...more: Array<Partial<Offer> & { price?: number }>): Offer[] =>
  more.map(({ price = CENT, ...fields }, index) =>
    offer(provider(`p${index}`), price, {
      ...fields,
      cost: { ...offer(provider('p'), price).cost, cacheRead: picoUsdPerToken(BigInt(price / 10)) },
    }),
  )
const FOUR = offers({}, {}, {}, {})

interface Call {
  of: Offer[]
  conversation?: string
  tokens?: number
  fields?: Record<string, unknown>
  health?: Record<string, OfferState['health']>
  cacheUse?: Record<string, OfferState['cacheUse']>
  random?: () => number
}

const catalogOf = oncePer((of: Offer[]) => snapshot([model('m', of)]))

/** The plan of one call, as any instance makes it. */
function plan({
  of,
  conversation = 'c',
  tokens = LONG,
  fields = {},
  health = {},
  cacheUse = {},
  random,
}: Call) {
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...fields })
  const { candidates, affinity } = planOf(request, tokens, catalogOf(of), {
    defaultCompletionLimit: 100,
    maxCandidates: 8,
    byokFeePercent: 5,
    offerState: (id) => ({ health: health[id] ?? 'ready', cacheUse: cacheUse[id] ?? (() => undefined) }),
    conversation: () => conversationHash(request.content, conversation, 'acct_1'),
    random: random ?? Math.random,
  })
  return { order: candidates.map(({ offerId }) => offerId), targets: affinity?.targets, affinity }
}

describe('the offer of a conversation', () => {
  test('is the same in every instance, each call of it, and the others follow in the same order', () => {
    const { order } = plan({ of: FOUR })
    for (let instance = 0; instance < 30; instance++) expect(plan({ of: FOUR }).order).toEqual(order)
    for (const fields of [
      { provider: { sort: 'price' } },
      { provider: { ignore: [order[3]!.split('/')[0]] } },
    ])
      expect(new Set(Array.from({ length: 30 }, () => plan({ of: FOUR, fields }).order.join())).size).toBe(1)
  })

  test('differs between conversations, each equally often, and one that fails moves no other', () => {
    const counts = new Map<string, number>()
    const failed = { 'p0/up': 'down' } as const
    for (let index = 0; index < 800; index++) {
      const [first] = plan({ of: FOUR, conversation: `c${index}` }).order
      counts.set(first!, (counts.get(first!) ?? 0) + 1)
      const [instead] = plan({ of: FOUR, conversation: `c${index}`, health: failed }).order
      expect(instead === first || first === 'p0/up').toBe(true)
    }
    for (const count of counts.values()) expect(Math.abs(count - 200)).toBeLessThan(50)
  })

  test('is drawn for each call where its prompt is too short for a cache', () => {
    const random = seeded(1)
    const firsts = Array.from({ length: 50 }, () => plan({ of: FOUR, tokens: 1_000, random }))
    expect(new Set(firsts.map(({ order }) => order[0])).size).toBe(4)
    expect(firsts[0]!.affinity).toBeUndefined()
    expect(plan({ of: offers({}) }).affinity).toEqual({ conversation: expect.any(Number) })
  })
})

describe('a conversation may stay with another offer than the first', () => {
  const stays = (call: Call) => plan(call).targets?.filter((target) => target !== '').length ?? 0

  test('while it is healthy, and not dearer by more than its cache saves', () => {
    expect(stays({ of: FOUR })).toBe(4)
    expect(stays({ of: FOUR, health: { 'p1/up': 'down', 'p2/up': 'rate-limited' } })).toBe(2)
    expect(stays({ of: offers({}, { price: 2 * CENT }), fields: { provider: { ignore: [] } } })).toBe(2)
    const dear = offers({ price: CENT }, { price: 5 * CENT })
    const ofDear = Array.from({ length: 50 }, (_, index) => plan({ of: dear, conversation: `c${index}` }))
    for (const { order, targets } of ofDear) expect(targets === undefined).toBe(order[0] === 'p0/up')
  })

  test('but not against the order or the sort of the request, the priority or the weight of the catalog', () => {
    expect(stays({ of: FOUR, fields: { provider: { order: ['p1'] } } })).toBe(0)
    for (const sort of ['throughput', 'latency'])
      expect(stays({ of: FOUR, fields: { provider: { sort } } })).toBe(0)
    expect(stays({ of: offers({}, { price: CENT + 100 }), fields: { provider: { sort: 'price' } } })).toBe(0)
    expect(stays({ of: FOUR, fields: { model: 'm:floor' } })).toBe(4)
    expect(stays({ of: offers({ priority: 1 }, {}) })).toBe(0)
    expect(stays({ of: offers({ weight: 0 }, {}) })).toBe(0)
  })
})

describe('the weight of an offer', () => {
  const share = (of: Offer[], health?: Call['health']) => {
    const firsts = Array.from({ length: 800 }, (_, index) =>
      plan({ of, conversation: `c${index}`, tokens: 10, ...(health && { health }) }),
    ).map(({ order }) => order[0])
    return (id: string) => firsts.filter((first) => first === id).length / firsts.length
  }

  test('is the part of the conversations that start with it, whatever it costs; the others share the rest by price', () => {
    const of = share(offers({ weight: 5, price: 100 * CENT }, {}, {}))
    expect(of('p0/up')).toBeCloseTo(0.05, 1)
    expect(of('p1/up')).toBeCloseTo(0.475, 1)
    expect(share(offers({ weight: 0 }, {}))('p0/up')).toBe(0)
    expect(share(offers({ weight: 0 }, {}), { 'p1/up': 'down' })('p0/up')).toBe(1)
  })

  test('keeps a conversation where it is, and moves only as many as it must when it changes', () => {
    const [five, ten] = [5, 10].map((weight) => offers({ weight }, { weight: 100 - weight }))
    const firstOf = (weight: number, conversation: string) =>
      plan({ of: weight === 5 ? five! : ten!, conversation, tokens: 10 }).order[0]
    const moved = Array.from({ length: 500 }, (_, index) => `c${index}`).filter(
      (conversation) => firstOf(5, conversation) !== firstOf(10, conversation),
    )
    expect(moved.length).toBeLessThan(50)
    for (const conversation of moved) expect(firstOf(10, conversation)).toBe('p0/up')
  })
})

test('offers are ranked by their price with what of prompts is likely cached there', () => {
  const use = (readTokens: number) => () => ({ promptTokens: 1_000_000, readTokens, writtenTokens: 0 })
  const sort = { provider: { sort: 'price' } }
  const of = offers({}, { price: CENT + 1_000 })
  expect(plan({ of, fields: sort }).order[0]).toBe('p0/up')
  const cacheUse = { 'p0/up': use(0), 'p1/up': use(900_000) }
  expect(plan({ of, fields: sort, cacheUse }).order[0]).toBe('p1/up')
  expect(plan({ of, fields: sort, cacheUse, tokens: 100 }).order[0]).toBe('p0/up')
})
