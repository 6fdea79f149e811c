import { describe, expect, test } from 'vitest'
import type { Offer } from '../../../src/core/catalog/catalog.ts'
import {
  EXPLORED_SHARE,
  type OfferMedians,
  type OfferOrder,
  type OfferState,
  orderOffers,
  providersChosenBy,
  providersExcludedBy,
} from '../../../src/core/routing/offer-preferences.ts'
import { model, offer, provider, seeded, snapshot } from '../../helpers/planned-catalog.ts'

const acme = provider('acme', { name: 'Acme Cloud' })
const beta = provider('beta', { name: 'Beta' })
/** Calls itself what another's id is. */
const pretender = provider('zeta', { name: 'ACME' })
const spaced = provider('cafe', { name: 'Café  Réseau ' })
const catalog = snapshot([
  model('m', [offer(acme, 1), offer(beta, 1)]),
  model('n', [offer(pretender, 1), offer(spaced, 1)]),
])

const chosen = (name: string) => [...providersChosenBy(name, catalog)]
const excluded = (...names: string[]) =>
  ['acme', 'beta', 'cafe', 'zeta'].filter((id) => providersExcludedBy(names, catalog).has(id))

describe('the name of a provider', () => {
  test('is its id or its display name, in any case', () => {
    for (const name of ['beta', 'BETA', 'Beta']) expect(chosen(name)).toEqual(['beta'])
    for (const name of ['acme cloud', 'Acme Cloud']) expect(chosen(name)).toEqual(['acme'])
  })

  test('is the same with other white space and the other form of its accents', () => {
    for (const name of ['café réseau', ' CAFÉ\tRÉSEAU', 'Café  Réseau '.normalize('NFD')]) {
      expect(chosen(name)).toEqual(['cafe'])
      expect(excluded(name)).toEqual(['cafe'])
    }
    expect(excluded(' Beta ')).toEqual(['beta'])
  })

  test('an unknown provider name selects and excludes nothing', () => {
    for (const name of ['', 'bet', 'be ta', '__proto__']) {
      expect(chosen(name)).toEqual([])
      expect(excluded(name)).toEqual([])
    }
  })

  test('chooses by id before it chooses by display name, but excludes by both', () => {
    expect(chosen('Acme')).toEqual(['acme'])
    expect(excluded('Acme')).toEqual(['acme', 'zeta'])
    expect(excluded('beta', 'nobody')).toEqual(['beta'])
  })
})

const PLAIN: OfferOrder = { pinned: [], sort: undefined, allowFallbacks: true }
const DRAWS = 8_000
/** Chi-square that a fair draw exceeds once in a thousand, by degrees of freedom. */
const CHI_SQUARE_MAX: Record<number, number> = { 2: 13.8, 4: 18.5 }

const offersAt = (...costs: number[]): Offer[] =>
  costs.map((cost, index) => offer(provider(`p${index}`), cost))

function ids(
  offers: Offer[],
  states: Record<string, OfferMedians & { health?: OfferState['health'] }>,
  order: Partial<OfferOrder> = {},
  random: () => number = () => 0.5,
): string[] {
  const stateOf = (id: string): OfferState => {
    const { health = 'ready', ...medians } = states[id.split('/')[0]!] ?? {}
    return { health, measures: () => medians }
  }
  return orderOffers(offers, { ...PLAIN, ...order }, stateOf, random).map((one) => one.provider.id)
}

/** How far the counts of who came first are from what was expected of them. */
function chiSquare(offers: Offer[], shares: number[], order: Partial<OfferOrder> = {}): number {
  const random = seeded(7)
  const first = new Map<string, number>()
  for (let draw = 0; draw < DRAWS; draw++) {
    const [winner] = ids(offers, {}, order, random)
    first.set(winner!, (first.get(winner!) ?? 0) + 1)
  }
  const total = shares.reduce((sum, share) => sum + share, 0)
  return shares.reduce((sum, share, index) => {
    const expected = (share / total) * DRAWS
    return sum + ((first.get(`p${index}`) ?? 0) - expected) ** 2 / expected
  }, 0)
}

describe('the balance of offers', () => {
  test('goes by the inverse square of the price', () => {
    const offers = offersAt(1_000_000, 2_000_000, 4_000_000)
    expect(chiSquare(offers, [16, 4, 1])).toBeLessThan(CHI_SQUARE_MAX[2]!)
  })

  test('favours no place in the catalog among equal prices, and none among free offers', () => {
    for (const price of [0, 1_000_000, 999_999_000_000]) {
      const offers = offersAt(price, price, price, price, price)
      expect(chiSquare(offers, [1, 1, 1, 1, 1])).toBeLessThan(CHI_SQUARE_MAX[4]!)
    }
  })

  test('sorts favour no place in the catalog among offers that are equal', () => {
    for (const sort of ['price', 'latency', 'throughput'] as const) {
      const offers = offersAt(5, 5, 5, 5, 5)
      expect(chiSquare(offers, [1, 1, 1, 1, 1], { sort })).toBeLessThan(CHI_SQUARE_MAX[4]!)
    }
  })

  test('goes to what works first; what is down or rate limited stays, at the end', () => {
    const offers = offersAt(1, 2, 3, 4)
    const states = {
      p0: { health: 'down' },
      p1: { health: 'rate-limited' },
      p2: { health: 'probe' },
    } as const
    const random = seeded(1)
    for (let draw = 0; draw < 100; draw++) {
      const order = ids(offers, states, {}, random)
      expect(new Set(order.slice(0, 2))).toEqual(new Set(['p2', 'p3']))
      expect(new Set(order.slice(2))).toEqual(new Set(['p0', 'p1']))
    }
    expect(ids(offers, states, { sort: 'price' })).toEqual(['p2', 'p3', 'p0', 'p1'])
  })
})

describe('the priority of offers', () => {
  const offers = [4, 2, 1, 2].map((priority, index) =>
    offer(provider(`p${index}`), 1_000_000 * (index + 1), { priority }),
  )

  test('comes before the balance of prices, and equal ones are balanced', () => {
    const random = seeded(11)
    const seen = new Set<string>()
    for (let draw = 0; draw < 100; draw++) {
      const order = ids(offers, {}, {}, random)
      expect([order[0], order[3]]).toEqual(['p2', 'p0'])
      seen.add(order[1]!)
    }
    expect(seen).toEqual(new Set(['p1', 'p3']))
  })

  test('gives way to health, to the order of a request and to its own sort', () => {
    expect(ids(offers, { p2: { health: 'down' } })[3]).toBe('p2')
    expect(ids(offers, {}, { pinned: [new Set(['p0'])] }).slice(0, 2)).toEqual(['p0', 'p2'])
    expect(ids(offers, {}, { sort: 'price' })).toEqual(['p0', 'p1', 'p2', 'p3'])
  })

  test('chooses the one offer of a request that takes no fallback', () => {
    expect(ids(offers, {}, { allowFallbacks: false })).toEqual(['p2'])
  })
})

describe('sorting', () => {
  const offers = offersAt(1, 2, 3)
  const fast = { p0: { tokensPerSecond: 20 }, p1: { tokensPerSecond: 80 }, p2: { tokensPerSecond: 50 } }
  const prompt = { p0: { firstTokenMs: 900 }, p1: { firstTokenMs: 300 }, p2: { firstTokenMs: 100 } }

  test('by throughput puts the most tokens a second first, by latency the soonest first token', () => {
    expect(ids(offers, fast, { sort: 'throughput' })).toEqual(['p1', 'p2', 'p0'])
    expect(ids(offers, prompt, { sort: 'latency' })).toEqual(['p2', 'p1', 'p0'])
  })

  test('by price puts the cheapest to us first', () => {
    expect(ids(offersAt(3, 1, 2), fast, { sort: 'price' })).toEqual(['p1', 'p2', 'p0'])
  })

  test('goes by price where nothing is measured', () => {
    for (const sort of ['throughput', 'latency'] as const)
      expect(ids(offersAt(3, 1, 2), {}, { sort })).toEqual(['p1', 'p2', 'p0'])
  })

  test('takes an offer without a measure for a middling one, and now and then tries it first', () => {
    const four = offersAt(1, 2, 3, 4)
    const states = { p0: { tokensPerSecond: 20 }, p1: { tokensPerSecond: 80 }, p2: { tokensPerSecond: 50 } }
    expect(ids(four, states, { sort: 'throughput' })).toEqual(['p1', 'p2', 'p3', 'p0'])
    const random = seeded(3)
    let explored = 0
    for (let draw = 0; draw < DRAWS; draw++) {
      const [first] = ids(four, states, { sort: 'throughput' }, random)
      expect(['p1', 'p3']).toContain(first)
      if (first === 'p3') explored++
    }
    expect(explored / DRAWS).toBeCloseTo(EXPLORED_SHARE, 2)
  })

  test('never explores where all are measured', () => {
    const random = seeded(5)
    for (let draw = 0; draw < 500; draw++)
      expect(ids(offers, fast, { sort: 'throughput' }, random)[0]).toBe('p1')
  })
})

describe('pinning', () => {
  const offers = offersAt(1, 2, 3, 4)
  const pinned = [new Set(['p3']), new Set<string>(), new Set(['p1', 'p2'])]

  test('comes before everything else, in its order, whatever the health', () => {
    const states = { p3: { health: 'down' } } as const
    expect(ids(offers, states, { pinned, sort: 'price' })).toEqual(['p3', 'p1', 'p2', 'p0'])
  })

  test('a pin without fallbacks leaves one provider; no fallbacks without a pin leave the first choice that works', () => {
    expect(ids(offers, {}, { pinned, allowFallbacks: false, sort: 'price' })).toEqual(['p3', 'p1', 'p2'])
    expect(ids(offers, {}, { pinned: [new Set()], allowFallbacks: false })).toEqual([])
    const states = { p0: { health: 'down' } } as const
    expect(ids(offers, states, { allowFallbacks: false, sort: 'price' })).toEqual(['p1'])
  })

  test('names an offer once', () => {
    const twice = [new Set(['p1']), new Set(['p1', 'p0'])]
    expect(ids(offers, {}, { pinned: twice, sort: 'price' })).toEqual(['p1', 'p0', 'p2', 'p3'])
  })
})
