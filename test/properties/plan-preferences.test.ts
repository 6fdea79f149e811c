import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type { Candidate } from '../../src/core/calls/call-job.ts'
import { parseChatRequest } from '../../src/core/calls/chat-request.ts'
import { parseExtendedRequest } from '../../src/core/calls/extended-request.ts'
import type { CatalogSnapshot, Model, Offer } from '../../src/core/catalog/catalog.ts'
import { ApiError } from '../../src/core/kernel/errors.ts'
import type { CallPlan } from '../../src/core/routing/call-plan.ts'
import type { OfferMedians, OfferState } from '../../src/core/routing/offer-preferences.ts'
import { planOf } from '../helpers/plan-of.ts'
import { model, offer, provider, rates, seeded, snapshot } from '../helpers/planned-catalog.ts'

/**
 * Plans of random requests over random catalogs, held to the rules of preferences as the contract states them,
 * stated here a second time: by brute force over every offer, without a line of the planner.
 */
const RUNS = 6_000
const PROMPT_TOKENS = 40
/** The dearest image of a model of which nothing is published, and what stands around a part. */
const IMAGE_TOKENS = 16_384 + 12
const DEFAULT_LIMIT = 300
const CHARACTERS_PER_TOKEN_MAX = 16

// ---------- the generated world ----------

const PROVIDER_IDS = ['acme', 'beta', 'gamma', 'delta', 'eps', 'zeta']
const PRICES = [0, 1, 1, 5, 5, 1_000_000, 1_000_000, 999_999_000_000]
const RATES = [0, 1, 250_000, 1_000_000, 60_000_000, 999_999_000_000]
const SUFFIXES = ['', '', '', ':nitro', ':floor', ':exacto', ':fast', ':', ':NITRO', ':floor:nitro']

/** True in so many of a hundred, unlike a biased integer. */
const chance = (percent: number) =>
  fc.constantFrom(...Array.from({ length: 20 }, (_, index) => index * 5 < percent))
/** A value in so many of a hundred, else nothing. */
const sometimes = <T>(percent: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.tuple(chance(percent), value).map(([isThere, drawn]) => (isThere ? drawn : undefined))

const providers = fc.tuple(
  ...PROVIDER_IDS.map((id, index) =>
    fc.record({
      // A display name that is another's id, or differs from it only in case.
      name: fc.constantFrom(
        id,
        id.toUpperCase(),
        `${id} Cloud`,
        PROVIDER_IDS[(index + 1) % PROVIDER_IDS.length]!,
      ),
      zdr: chance(40),
      dataCollection: fc.constantFrom('allow' as const, 'deny' as const),
      quirks: sometimes(40, fc.constant({ omit: ['seed' as const] })),
    }),
  ),
)

const offers = fc.array(
  fc.record({
    at: fc.nat({ max: PROVIDER_IDS.length - 1 }),
    of: fc.nat({ max: 3 }),
    cost: fc.constantFrom(...PRICES),
    shared: chance(85),
    priority: fc.constantFrom(1, 100, 100),
    exactTools: chance(30),
    health: fc.constantFrom<OfferState['health'][]>(
      'ready',
      'ready',
      'ready',
      'probe',
      'down',
      'rate-limited',
    ),
    firstTokenMs: fc.option(fc.constantFrom(100, 200, 200, 900), { nil: undefined }),
    tokensPerSecond: fc.option(fc.constantFrom(10, 50, 50, 400), { nil: undefined }),
  }),
  { minLength: 10, maxLength: 40 },
)

const models = fc.tuple(
  ...['gpt-bare', 'v/one', 'v/two:3b', 'v/three'].map((id) =>
    fc.record({
      id: fc.constant(id),
      prompt: fc.constantFrom(...RATES),
      completion: fc.constantFrom(...RATES),
      contextLength: fc.constantFrom(1, 30, 100_000, 100_000, 100_000, 100_000),
      maxOutputTokens: fc.constantFrom(1, 7, 100_000),
      image: fc.boolean(),
      parameters: fc.subarray(['tools', 'temperature', 'response_format']),
    }),
  ),
)

const names = fc.array(
  fc.constantFrom(
    ...PROVIDER_IDS,
    ...PROVIDER_IDS.map((id) => id.toUpperCase()),
    ...PROVIDER_IDS.map((id) => `${id} Cloud`),
    'nobody',
    '',
  ),
  { maxLength: 5 },
)
const price = fc.constantFrom<Array<number | string>>(0, '0', 1e-6, '0.25', 1, '1.00', 60, 1e6, '999999')
const preferences = fc.record({
  order: sometimes(35, names),
  only: sometimes(15, names),
  ignore: sometimes(30, names),
  allow_fallbacks: sometimes(40, fc.boolean()),
  require_parameters: sometimes(30, fc.boolean()),
  data_collection: sometimes(20, fc.constantFrom('allow', 'deny')),
  zdr: sometimes(25, fc.boolean()),
  sort: sometimes(60, fc.constantFrom('price', 'throughput', 'latency')),
  max_price: sometimes(
    30,
    fc.record({
      prompt: sometimes(40, price),
      completion: sometimes(40, price),
      request: sometimes(50, fc.constantFrom<Array<string | number>>('0', 0.000001, '0.0001', 0.01, '100')),
    }),
  ),
})

const requests: fc.Arbitrary<Ask> = fc.record({
  models: fc.array(
    fc
      .tuple(
        fc.constantFrom(
          'gpt-bare',
          'openai/gpt-bare',
          'v/one',
          'v/two:3b',
          'v/three',
          'openai/v/one',
          'v/none',
        ),
        fc.constantFrom(...SUFFIXES),
      )
      .map(([id, suffix]) => id + suffix),
    { minLength: 1, maxLength: 8 },
  ),
  text: fc.constantFrom('Hi', 'x'.repeat(20), 'x'.repeat(600)),
  image: chance(10),
  provider: preferences,
  max_tokens: sometimes(50, fc.constantFrom(1, 10, 5_000)),
  temperature: sometimes(30, fc.constant(1)),
  tools: sometimes(30, fc.constant([{ type: 'function' }])),
})

type KnownState = Pick<OfferState, 'health'> & OfferMedians

interface World {
  catalog: CatalogSnapshot
  states: Map<string, KnownState>
}

const worlds = fc.tuple(providers, offers, models).map(([attributes, drawn, shapes]): World => {
  const all = PROVIDER_IDS.map((id, index) => {
    const { quirks, ...more } = attributes[index]!
    return provider(id, { ...more, ...(quirks && { quirks }) })
  })
  const states = new Map<string, KnownState>()
  const built = shapes.map((shape, index) => {
    const own = drawn.flatMap(({ at, of, cost, shared, priority, exactTools, ...state }, number): Offer[] => {
      if (of !== index) return []
      const one = offer(all[at]!, cost, { shared, priority, exactTools }, `up-${number}`)
      states.set(one.id, state)
      return [one]
    })
    const { id, prompt, completion, contextLength, maxOutputTokens, image, parameters } = shape
    return model(id, own, {
      rate: rates(prompt, completion),
      contextLength,
      maxOutputTokens: Math.min(maxOutputTokens, contextLength),
      inputModalities: image ? ['text', 'image'] : ['text'],
      supportedParameters: parameters,
    })
  })
  return { catalog: snapshot(built), states }
})

// ---------- the rules, by brute force ----------

interface Ask {
  models: string[]
  text: string
  image: boolean
  provider: {
    order?: string[] | undefined
    only?: string[] | undefined
    ignore?: string[] | undefined
    allow_fallbacks?: boolean | undefined
    require_parameters?: boolean | undefined
    data_collection?: string | undefined
    zdr?: boolean | undefined
    sort?: string | undefined
    max_price?: Partial<Record<'prompt' | 'completion' | 'request', number | string | undefined>> | undefined
  }
  max_tokens?: number | undefined
  temperature?: number | undefined
  tools?: object[] | undefined
}

const KNOWN_SUFFIXES: Record<string, { sort?: string; exact?: boolean }> = {
  nitro: { sort: 'throughput' },
  floor: { sort: 'price' },
  exacto: { exact: true },
}

/** The model that an entry names, with what its suffix asks for; null when there is none. */
function meaning(
  asked: string,
  catalog: CatalogSnapshot,
): { model: Model; sort?: string; exact?: boolean } | null {
  const find = (id: string): Model | undefined =>
    catalog.models.get(id) ??
    (id.startsWith('openai/') && !id.includes('/', 7) ? catalog.models.get(id.slice(7)) : undefined)
  const exactly = find(asked)
  if (exactly) return { model: exactly }
  const [, id, suffix] = /^(.*):([^:]*)$/.exec(asked) ?? []
  if (id === undefined || suffix === undefined || !Object.hasOwn(KNOWN_SUFFIXES, suffix)) return null
  const base = find(id)
  return base ? { model: base, ...KNOWN_SUFFIXES[suffix] } : null
}

/** Whether a request's name for a provider means this one: its id; or its display name if that is nobody's id. */
function chooses(name: string, { id, name: display }: Offer['provider'], catalog: CatalogSnapshot): boolean {
  const wanted = name.toLowerCase()
  const isSomebodysId = [...catalog.offers.values()].some((one) => one.provider.id === wanted)
  return isSomebodysId ? id === wanted : display.toLowerCase() === wanted
}

const excludes = (name: string, { id, name: display }: Offer['provider']): boolean =>
  [id, display.toLowerCase()].includes(name.toLowerCase())

/** USD per million tokens as pico-USD per token; every price here has at most six decimals. */
const perToken = (usd: number | string): bigint => BigInt(Math.round(Number(usd) * 1e6))
const pico = (usd: number | string): bigint => BigInt(Math.round(Number(usd) * 1e6)) * 1_000_000n

function isAllowed(
  one: Offer,
  { model, exact }: { model: Model; exact?: boolean },
  ask: Ask,
  catalog: CatalogSnapshot,
) {
  const { only, ignore = [], zdr, data_collection, require_parameters, max_price = {} } = ask.provider
  if (!one.shared) return false
  if (only && !only.some((name) => chooses(name, one.provider, catalog))) return false
  if (ignore.some((name) => excludes(name, one.provider))) return false
  if (zdr && !one.provider.zdr) return false
  if (data_collection === 'deny' && one.provider.dataCollection !== 'deny') return false
  if (exact && !one.exactTools) return false
  const used = [...(ask.temperature === undefined ? [] : ['temperature']), ...(ask.tools ? ['tools'] : [])]
  if (require_parameters && used.some((name) => !model.supportedParameters.includes(name))) return false
  if (max_price.prompt !== undefined && model.rate.prompt > perToken(max_price.prompt)) return false
  if (max_price.completion !== undefined && model.rate.completion > perToken(max_price.completion))
    return false
  return completionLimit(model, ask) >= 1
}

/** The most tokens of the prompt at a model: no more than its window. */
const promptBound = (model: Model, ask: Ask): number =>
  Math.min(PROMPT_TOKENS + (ask.image ? IMAGE_TOKENS : 0), model.contextLength)

/** What of a limit the prompt's bound leaves in the window, or, where that is less than half, the prompt's least. */
function besidePrompt(limit: number, model: Model, ask: Ask): number {
  const left = model.contextLength - promptBound(model, ask)
  const most = model.contextLength - Math.floor(ask.text.length / CHARACTERS_PER_TOKEN_MAX)
  // A prompt that cannot fit has no candidate, whatever its limit.
  return most < 1 ? limit : Math.min(limit, left >= limit / 2 ? left : most)
}

/** The most completion tokens that a call may use at a model. */
function completionLimit(model: Model, ask: Ask): number {
  const limit = besidePrompt(Math.min(ask.max_tokens ?? DEFAULT_LIMIT, model.maxOutputTokens), model, ask)
  const cap = ask.provider.max_price?.request
  if (cap === undefined) return limit
  let affordable = limit
  const cost = (tokens: number) =>
    BigInt(promptBound(model, ask)) * model.rate.prompt + BigInt(tokens) * model.rate.completion
  while (affordable >= 0 && cost(affordable) > pico(cap)) affordable--
  return affordable
}

const isUp = (state: KnownState): boolean => state.health === 'ready' || state.health === 'probe'
const costOf = ({ cost }: Offer): bigint => 3n * cost.prompt + cost.completion

/** How much worse `a` is than `b` by a sort; 0 where the sort does not tell. */
function worse(
  sort: string | undefined,
  a: Offer,
  b: Offer,
  states: World['states'],
  hasMeasures: boolean,
): number {
  if (sort === undefined) return a.priority - b.priority
  const [one, other] = [states.get(a.id)!, states.get(b.id)!]
  if (sort === 'price' || !hasMeasures) return Number(costOf(a) - costOf(b))
  if (sort === 'throughput')
    return (other.tokensPerSecond ?? Number.NaN) - (one.tokensPerSecond ?? Number.NaN) || 0
  if (sort === 'latency') return (one.firstTokenMs ?? Number.NaN) - (other.firstTokenMs ?? Number.NaN) || 0
  return 0
}

interface Expected {
  asked: string
  model: Model
  sort: string | undefined
  offers: Offer[]
}

/** Every entry of a request with all it may lead to, an offer under the first entry that may use it. */
function expectation(ask: Ask, { catalog }: World): { entries: Expected[]; refusal: string | null } {
  const inText = ask.text.length
  const taken = new Set<Offer>()
  const reasons = new Set<string>()
  const known = [...new Set(ask.models)].flatMap((asked) => {
    const found = meaning(asked, catalog)
    return found ? [{ asked, ...found }] : []
  })
  const entries = known.map((entry): Expected => {
    const { model } = entry
    const fitsShape = !ask.image || model.inputModalities.includes('image')
    const fitsWindow = Math.floor(inText / CHARACTERS_PER_TOKEN_MAX) < model.contextLength
    const { order = [], allow_fallbacks: fallbacks = true } = ask.provider
    const allowed = model.offers.filter(
      (one) =>
        fitsShape &&
        fitsWindow &&
        isAllowed(one, entry, ask, catalog) &&
        (fallbacks || order.length === 0 || order.some((name) => chooses(name, one.provider, catalog))),
    )
    if (allowed.length === 0) {
      reasons.add(
        !fitsShape ? 'unsupported_shape' : !fitsWindow ? 'context_length_exceeded' : 'no_provider_available',
      )
    }
    return { asked: entry.asked, model, sort: entry.sort ?? ask.provider.sort, offers: allowed }
  })
  const single = ask.provider.allow_fallbacks === false && !ask.provider.order?.length
  // Without fallbacks an entry leads to one offer, which is not known here; it may be that of an entry before.
  if (!single) {
    for (const entry of entries) {
      entry.offers = entry.offers.filter((one) => !taken.has(one))
      for (const one of entry.offers) taken.add(one)
    }
  }
  if (entries.some((entry) => entry.offers.length > 0)) return { entries, refusal: null }
  const refusal = ['no_provider_available', 'context_length_exceeded', 'unsupported_shape'].find((code) =>
    reasons.has(code),
  )
  return { entries, refusal: known.length === 0 ? 'model_not_found' : (refusal ?? 'none') }
}

/** Throws where a plan breaks a rule. */
function check(plan: CallPlan, ask: Ask, world: World, maxCandidates: number): void {
  const { entries } = expectation(ask, world)
  const { order = [], allow_fallbacks: fallbacks = true } = ask.provider
  const offerOf = (candidate: Candidate): Offer => world.catalog.offers.get(candidate.offerId)!
  const stateOf = (one: Offer): KnownState => world.states.get(one.id)!
  const { candidates } = plan
  const planned = entries.map(({ asked }) =>
    candidates.filter((candidate) => candidate.requestedModel === asked),
  )

  // Nobody who may not, everybody who may, each once, the entries in the client's order.
  expect(candidates).toEqual(planned.flat())
  expect(new Set(candidates.map(({ offerId }) => offerId)).size).toBe(candidates.length)
  for (const [index, own] of planned.entries())
    for (const candidate of own) expect(entries[index]!.offers).toContain(offerOf(candidate))
  const single = !fallbacks && order.length === 0
  const usable = entries.filter(({ offers }) => offers.length > 0)
  if (single) for (const own of planned) expect(own.length).toBeLessThanOrEqual(1)
  else expect(candidates.length).toBe(Math.min(maxCandidates, usable.flatMap(({ offers }) => offers).length))

  // Where places are short: the healthy before the others, and one for every entry that has some.
  if (!single && candidates.some((candidate) => !isUp(stateOf(offerOf(candidate))))) {
    const left = usable
      .flatMap(({ offers }) => offers)
      .filter((one) => !candidates.some((c) => c.offerId === one.id))
    expect(left.filter((one) => isUp(stateOf(one)))).toEqual([])
  }
  if (!single && usable.length <= maxCandidates) {
    for (const [index, { offers }] of entries.entries())
      if (offers.some((one) => isUp(stateOf(one)))) expect(planned[index]!.length).toBeGreaterThan(0)
  }

  for (const [index, { model, sort, offers }] of entries.entries()) {
    const own = planned[index]!.map(offerOf)
    const placeOf = (one: Offer): number => {
      const place = order.findIndex((name) => chooses(name, one.provider, world.catalog))
      return place < 0 ? order.length : place
    }
    const measureOf = (one: Offer) =>
      sort === 'throughput'
        ? stateOf(one).tokensPerSecond
        : sort === 'latency'
          ? stateOf(one).firstTokenMs
          : 0
    const all = model.offers.filter((one) =>
      isAllowed(one, { model, exact: isExact(entries[index]!.asked) }, ask, world.catalog),
    )
    const hasMeasures = all.some((one) => measureOf(one) !== undefined)
    for (const [place, one] of own.entries()) {
      for (const later of own.slice(place + 1)) {
        expect(placeOf(one)).toBeLessThanOrEqual(placeOf(later))
        if (placeOf(one) !== placeOf(later)) continue
        expect(isUp(stateOf(later)) && !isUp(stateOf(one))).toBe(false)
        if (isUp(stateOf(later)) !== isUp(stateOf(one))) continue
        expect(worse(sort, one, later, world.states, hasMeasures)).toBeLessThanOrEqual(0)
      }
    }
    // The one choice that is left without fallbacks is a good one.
    if (single && own[0]) {
      const rivals = offers.filter((rival) => isUp(stateOf(rival)) || !isUp(stateOf(own[0]!)))
      expect(offers.some((rival) => isUp(stateOf(rival)))).toBe(isUp(stateOf(own[0])))
      if (measureOf(own[0]) !== undefined || !hasMeasures)
        for (const rival of rivals.filter((one) => isUp(stateOf(one)) === isUp(stateOf(own[0]!))))
          expect(worse(sort, own[0], rival, world.states, hasMeasures)).toBeLessThanOrEqual(0)
    }
  }

  // The hold covers whoever serves, and keeps to the client's cap.
  let worst = 0n
  for (const candidate of candidates) {
    const model = world.catalog.models.get(candidate.modelId)!
    const { rate, maxOutputTokens, contextLength } = model
    expect(candidate.rate).toEqual({ prompt: String(rate.prompt), completion: String(rate.completion) })
    expect(candidate.contextLength).toBe(contextLength)
    expect(candidate.completionLimit).toBe(completionLimit(world.catalog.models.get(candidate.modelId)!, ask))
    expect(candidate.completionLimit).toBeLessThanOrEqual(maxOutputTokens)
    const most =
      BigInt(promptBound(model, ask)) * rate.prompt + BigInt(candidate.completionLimit) * rate.completion
    if (most > worst) worst = most
  }
  expect(plan.worstCase).toBe(worst)
  const cap = ask.provider.max_price?.request
  if (cap !== undefined) expect(plan.worstCase).toBeLessThanOrEqual(pico(cap))
}

const isExact = (asked: string): boolean => asked.endsWith(':exacto')

// ---------- the comparison ----------

const outcomes = new Map<string, number>()
afterAll(() => {
  process.stdout.write(`plans by outcome: ${JSON.stringify(Object.fromEntries(outcomes))}\n`)
})

function plan(
  ask: Ask & { seed?: number },
  world: World,
  maxCandidates: number,
  seed: number,
  parse = parseChatRequest,
): CallPlan | ApiError {
  const { text, image, ...body } = ask
  const content = image
    ? [
        { type: 'text', text },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ]
    : text
  const request = parse({ ...body, messages: [{ role: 'user', content }] })
  try {
    return planOf(request, PROMPT_TOKENS, world.catalog, {
      defaultCompletionLimit: DEFAULT_LIMIT,
      byokFeePercent: 5,
      maxCandidates,
      offerState: (offerId) => {
        const { health, ...medians } = world.states.get(offerId)!
        return { health, measures: () => medians }
      },
      random: seeded(seed),
    })
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

describe('plans, against the rules by brute force', () => {
  test(`of ${RUNS} requests none breaks a preference, leaves out who may serve, or costs more than it holds`, () => {
    fc.assert(
      fc.property(
        worlds,
        requests,
        fc.constantFrom(1, 2, 8, 100),
        fc.nat(),
        (world, ask, maxCandidates, seed) => {
          const made = plan(ask, world, maxCandidates, seed)
          const { refusal } = expectation(ask, world)
          const outcome = made instanceof ApiError ? made.code : 'planned'
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
          expect(outcome).toBe(refusal ?? 'planned')
          if (!(made instanceof ApiError)) check(made, ask, world, maxCandidates)
          else if (made.code === 'no_provider_available') expect(made.details.shouldRetry).toBe(false)
        },
      ),
      { numRuns: RUNS },
    )
    // The rules are only held to what occurs.
    expect(outcomes.get('planned')).toBeGreaterThan(RUNS / 5)
    for (const code of [
      'no_provider_available',
      'model_not_found',
      'context_length_exceeded',
      'unsupported_shape',
    ])
      expect(outcomes.get(code) ?? 0, code).toBeGreaterThan(0)
  })

  test('of an extended request hints exclude no model, and are left out only where no healthy offer honours all', () => {
    let leavingOut = 0
    fc.assert(
      fc.property(worlds, requests, fc.nat(), (world, drawn, seed) => {
        const { provider: preferences, models, temperature: _t, tools: _tools, ...ask } = drawn
        const [asked] = models
        const planned = (
          changes: Partial<Ask['provider']>,
          hints: { temperature?: number; seed?: number },
        ) => {
          const given = { ...preferences, require_parameters: undefined, ...changes }
          return plan(
            { ...ask, models: [asked!], ...hints, provider: given },
            world,
            100,
            seed,
            parseExtendedRequest,
          )
        }
        const made = planned({}, { temperature: 1, seed: 1 })
        const among = planned(preferences.order?.length ? {} : { allow_fallbacks: true }, {})
        if (made instanceof ApiError || among instanceof ApiError) {
          expect(made).toMatchObject({ code: (among as ApiError).code })
          return
        }
        const offerOf = ({ offerId }: Candidate) => world.catalog.offers.get(offerId)!
        const missing = (candidate: Candidate): string[] => {
          const takes = world.catalog.models
            .get(candidate.modelId)!
            .supportedParameters.includes('temperature')
          if (!takes) return ['temperature', 'seed']
          return offerOf(candidate).provider.quirks ? ['seed'] : []
        }
        for (const candidate of made.candidates) expect(candidate.leftOut ?? []).toEqual(missing(candidate))
        expect(made.ignoredParameters ?? []).toEqual([...new Set(made.candidates.flatMap(missing))])
        const honouring = among.candidates.filter((candidate) => missing(candidate).length === 0)
        const isOrdered = preferences.order !== undefined && preferences.order.length > 0
        const isHonoured = !isOrdered && honouring.some(({ offerId }) => isUp(world.states.get(offerId)!))
        if (!isHonoured) leavingOut++
        const expected = (isHonoured ? honouring : among.candidates).map(({ offerId }) => offerId)
        const taken = made.candidates.map(({ offerId }) => offerId)
        if (preferences.allow_fallbacks === false && !preferences.order?.length) {
          expect(taken).toHaveLength(1)
          expect(expected).toContain(taken[0])
        } else expect(taken.toSorted()).toEqual(expected.toSorted())
      }),
      { numRuns: RUNS / 4 },
    )
    expect(leavingOut).toBeGreaterThan(RUNS / 100)
  })
})
