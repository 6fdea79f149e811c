import { describe, expect, test } from 'vitest'
import { tierOfRate } from '../../../src/core/billing/service-tier.ts'
import { settlementOf } from '../../../src/core/billing/settlement.ts'
import { waitedTooLong } from '../../../src/core/calls/call-errors.ts'
import { normalizeExtendedRequest } from '../../../src/core/calls/extended-request.ts'
import { laneOf } from '../../../src/core/calls/fair-queue.ts'
import type { Offer } from '../../../src/core/catalog/catalog.ts'
import { planOf } from '../../helpers/plan-of.ts'
import { model, offer, provider, snapshot } from '../../helpers/planned-catalog.ts'
import { type Play, playCall } from '../../helpers/played-chain.ts'

const PASSES = { quirks: { passes: ['service_tier' as const] } }
const OPTIONS = { defaultCompletionLimit: 100, byokFeePercent: 5, maxCandidates: 8, random: () => 0.5 }
const PRICED = { tierPercents: { priority: 175, flex: 50 } }

/** The plan of a call at one offer. The usual rate is 1 and 2 USD per million tokens. */
function planned(tier: string, terms: Partial<Offer>, at = provider('a', PASSES), preferences = {}) {
  const request = normalizeExtendedRequest({
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    service_tier: tier,
    provider: preferences,
  } as Parameters<typeof normalizeExtendedRequest>[0])
  const plan = planOf(request, 10, snapshot([model('m', [offer(at, 500_000, terms)])]), OPTIONS)
  return { ...plan, candidate: plan.candidates[0]! }
}

const USUAL = { prompt: '1000000', completion: '2000000' }
const PRIORITY = { prompt: '1750000', completion: '3500000' }

describe('a call that asks for a service tier', () => {
  test('is held at the dearer of that tier and the usual one', () => {
    const usual = planned('default', PRICED)
    expect(usual.candidate).toMatchObject({ rate: USUAL })
    expect(usual.candidate.tier).toBeUndefined()
    const priority = planned('priority', PRICED)
    expect(priority.candidate).toMatchObject({ rate: PRIORITY, tier: { name: 'priority', percent: 175 } })
    expect(priority.worstCase * 100n).toBe(usual.worstCase * 175n)
    expect(planned('flex', PRICED).worstCase).toBe(usual.worstCase)
    expect(priority.ignoredParameters).toBeUndefined()
  })

  test.each<[string, Partial<Offer>, ReturnType<typeof provider>, object]>([
    ['has no price', {}, provider('a', PASSES), {}],
    ['is not known to the provider', PRICED, provider('a'), {}],
    ['costs more than the request allows', PRICED, provider('a', PASSES), { max_price: { prompt: '1.5' } }],
  ])('a call whose tier %s is served without it, and names it as ignored', (_, terms, at, preferences) => {
    const { candidate, ignoredParameters } = planned('priority', terms, at, preferences)
    expect(candidate).toMatchObject({ rate: USUAL, leftOut: ['service_tier'] })
    expect(ignoredParameters).toEqual(['service_tier'])
  })

  test('waits in the slow lane only for an offer that sells flex; others serve it as usual', () => {
    const [sold, unsold] = [planned('flex', PRICED), planned('flex', { tierPercents: { priority: 175 } })]
    expect([sold, unsold].map(({ candidates }) => laneOf(candidates))).toEqual(['flex', 'default'])
    expect(laneOf(planned('priority', PRICED).candidates)).toBe('default')
    expect(unsold.candidate).toMatchObject({ rate: USUAL, leftOut: ['service_tier'] })
    expect(unsold.candidate.tier).toBeUndefined()
    expect(waitedTooLong(sold).code).toBe('resource_unavailable')
    expect(waitedTooLong(unsold).code).toBe('request_timeout')
  })

  test('is shown in the record of the call by the version of its rate', () => {
    const versions = ['r1-priority-175', 'r1-flex-50', 'r1', 'flex-50-2', null]
    expect(versions.map(tierOfRate)).toEqual(['priority', 'flex', undefined, undefined, undefined])
  })

  const usage = { promptTokens: 10, completionTokens: 4 }
  const settled = async (tier: string, play: Play, isStream = true) => {
    const { candidate } = planned(tier, PRICED)
    const { outcome, envelope, catalog } = await playCall({
      stream: isStream,
      routes: [{ plays: [play], candidate: { ...candidate, offerId: 'p0/m' }, offer: { cost: USUAL_COST } }],
    })
    return settlementOf(outcome, envelope, catalog, { claimedAt: 1, finishedAt: 2 })
  }
  const USUAL_COST = offer(provider('a'), 500_000).cost

  test.each([
    ['priority', 'priority', 175n, 'r1-priority-175'],
    ['priority', 'default', 100n, 'r1'],
    ['priority', undefined, 175n, 'r1-priority-175'],
    ['flex', 'flex', 50n, 'r1-flex-50'],
    ['flex', 'default', 100n, 'r1'],
  ])('%s is charged by the tier in the reply: %s', async (asked, said, percent, version) => {
    const play = { says: ['a word'], usage, ...(said !== undefined && { tier: said }) }
    const { chargePico, holdPico, served } = await settled(asked, play)
    expect(BigInt(chargePico) * 100n).toBe((10n * 1_000_000n + 4n * 2_000_000n) * percent)
    expect(BigInt(chargePico)).toBeLessThanOrEqual(BigInt(holdPico))
    expect(served).toMatchObject({ rateVersion: version })
    expect(BigInt(served!.cost.prompt) * 100n).toBe(USUAL_COST.prompt * percent)
  })

  test('pays by it for a completion that broke off, too', async () => {
    const { status, served } = await settled('flex', { says: ['a word'], end: 'broken-stream', tier: 'flex' })
    expect({ status, rate: served?.rate }).toEqual({
      status: 'interrupted',
      rate: { prompt: '500000', completion: '1000000' },
    })
  })
})
