import { expect, test } from 'vitest'
import { autoLadder } from '../../../src/core/auto/auto-ladder.ts'
import { chooseAutoModels, DEFAULT_POINT_USD, valueModels } from '../../../src/core/auto/auto-routing.ts'
import { difficultyModel } from '../../../src/core/auto/difficulty/learned-head.ts'
import { SHIPPED_MODEL, scorePrompt } from '../../../src/core/auto/difficulty/score-turns.ts'
import type { TaskKind } from '../../../src/core/auto/quality-figure.ts'
import { chatNeeds } from '../../../src/core/calls/kinds/chat.ts'
import type { CatalogSnapshot, Model } from '../../../src/core/catalog/catalog.ts'
import { buildCatalogSnapshot } from '../../../src/core/catalog/catalog-snapshot.ts'
import { seededRandom } from '../../../src/core/kernel/seeded-random.ts'
import { mean } from '../../../src/routing/learning/bayesian-head.ts'
import { gainedArea } from '../../../src/routing/learning/head-gate.ts'
import { type LearnedVersion, learnVersion } from '../../../src/routing/learning/learn-version.ts'
import type { KnownOutcome } from '../../../src/routing/learning/outcome-store.ts'
import { outcomeVector } from '../../../src/routing/learning/outcome-vector.ts'

/** A deployment of which the built-in idea is wrong: by price alone, and difficulty by subject instead of length. */
const MODELS = [
  { id: 'a/small', usd: '0.10', ability: { code: 2.2, formulas: -1.5, other: 0 } },
  { id: 'b/medium', usd: '0.50', ability: { code: -0.5, formulas: 1.8, other: 0.2 } },
  { id: 'c/large', usd: '3.00', ability: { code: 0.5, formulas: 0.4, other: 1.2 } },
  { id: 'd/largest', usd: '10.00', ability: { code: 0.6, formulas: 0.5, other: 1.1 } },
]
type SimulatedKind = keyof (typeof MODELS)[number]['ability']
const KINDS: SimulatedKind[] = ['code', 'formulas', 'other']
const FILLER = 'consider the following and state in short terms with all that is known about it'.split(' ')
const SUBJECTS = {
  easy: ['bridge', 'engine', 'river', 'mountain', 'harbour', 'carpet', 'lantern', 'valley'],
  hard: ['protein', 'treaty', 'monopoly', 'plasma', 'constitution', 'enzyme', 'inflation', 'neuron'],
}
const FRAMES: Record<SimulatedKind, (words: string) => string> = {
  code: (words) => `Write a python function for this. ${words}\n\`\`\`\ndef run(): pass\n\`\`\``,
  formulas: (words) => `Solve $x + 3 = 8$ where ${words}`,
  other: (words) => `Explain ${words}`,
}

interface Prompt {
  kind: SimulatedKind
  text: string
  isHard: boolean
}

function promptsOf(count: number, random: () => number): Prompt[] {
  const pick = <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)]!
  return Array.from({ length: count }, () => {
    const [kind, isHard] = [pick(KINDS), random() < 0.5]
    const words = Array.from({ length: 4 + Math.floor(random() * 40) }, () =>
      random() < 0.25 ? pick(SUBJECTS[isHard ? 'hard' : 'easy']) : pick(FILLER),
    )
    return { kind, isHard, text: FRAMES[kind](words.join(' ')) }
  })
}

type Truth = (id: string, prompt: Prompt) => number

/** The chance that a model answers a prompt well. An easy one hardly distinguishes models. */
const trueQuality: Truth = (id, { kind, isHard }) => {
  const { ability } = MODELS.find((model) => model.id === id)!
  return 1 / (1 + Math.exp(-(isHard ? 1.6 * ability[kind] : 2.5 + 0.3 * ability[kind])))
}

function catalogOf(version?: LearnedVersion): CatalogSnapshot {
  const document = {
    providers: [{ id: 'p', base_url: 'https://p.example/v1' }],
    models: MODELS.map(({ id, usd }) => ({
      ...{ id, name: id, vendor: id.split('/')[0]!, context_length: 128_000, max_output_tokens: 8_000 },
      ...{ input_modalities: ['text'], supported_parameters: ['tools'] },
      list_price: { prompt: usd, completion: usd },
      offers: [{ provider: 'p', upstream_model: id }],
    })),
  }
  const contents = [document, ...(version ? [version.content] : [])]
  const built = buildCatalogSnapshot(
    contents.map((content, at) => ({ name: `document ${at}`, content, updatedAt: 0 })),
    {
      ...{ generatedAt: 0, isUsable: () => true, unlisted: new Set(), discountPercent: 5 },
      ...{ openWeightsDiscountPercent: 5, providerCostPercent: 80, openWeightsCostPercent: 80 },
      allowLossOffers: true,
    } as Parameters<typeof buildCatalogSnapshot>[1],
  )
  if (built.kind === 'problems') throw new Error(built.problems.join('\n'))
  return built.snapshot
}

const BASE = catalogOf()
const messagesOf = ({ text }: Prompt) => [{ role: 'user' as const, content: text }]

/** Pairs of two random models, as a sampled shadow would store them. */
function pairsOf(prompts: readonly Prompt[], random: () => number, truth = trueQuality): KnownOutcome[] {
  return prompts.map((prompt) => {
    const [one, other] = MODELS.map(({ id }) => id).sort(() => random() - 0.5)
    const answered = (id: string) => (random() < truth(id, prompt) ? 1 : 0)
    return {
      ...{ accountId: 'acct_1', kind: prompt.kind, score: scorePrompt(prompt.text, SHIPPED_MODEL) },
      ...{ modelId: one!, outcome: answered(one!), costPico: 1n },
      pair: {
        vector: outcomeVector(messagesOf(prompt)),
        ...{ otherModelId: other!, otherOutcome: answered(other!), otherCostPico: 1n },
      },
    }
  })
}

const learn = (outcomes: readonly KnownOutcome[]) => learnVersion(outcomes, BASE.autoLadder, '2026-11-25')

/** The true value in points of what a catalog has `auto` choose for prompts: quality less cost. */
function worthOf(catalog: CatalogSnapshot, prompts: readonly Prompt[]): number {
  const ladder = autoLadder(catalog.autoLadder)
  const values = prompts.map((prompt) => {
    const needs = chatNeeds({ messages: messagesOf(prompt), parameters: {} })
    const { kind, models } = chooseAutoModels(needs.auto, needs, catalog, () => true)
    expect(kind).toBe(prompt.kind satisfies TaskKind)
    const chosen: Model = models[0]!
    const usd = valueModels(needs.auto, catalog).usdPer1000At(ladder.models.indexOf(chosen))
    return 100 * trueQuality(chosen.id, prompt) - usd / DEFAULT_POINT_USD.auto
  })
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** How much of what the largest model adds to the smallest a catalog's scores recover, over the share of calls; 0.5 is random. */
function rankingOf(catalog: CatalogSnapshot, prompts: readonly Prompt[], truth = trueQuality): number {
  const model = difficultyModel(catalog)
  const scores = prompts.map(({ text }) => scorePrompt(text, model))
  const gains = prompts.map((prompt) => truth('c/large', prompt) - truth('a/small', prompt))
  const total = gains.reduce((sum, gain) => sum + gain, 0) / gains.length
  return gainedArea(scores, gains, [...prompts.keys()]) / total
}

const TEST = promptsOf(400, seededRandom(1))

test('without outcomes there is no version, and fewer than 300 pairs leave the ranking as it is', () => {
  expect(learn([])).toBeNull()
  const random = seededRandom(2)
  const few = learn(pairsOf(promptsOf(299, random), random))!
  expect(few.report.gate).toEqual({ pairs: 299, difference: null, deviation: null, passes: false, share: 0 })
  expect(few.content.auto_head).toBeUndefined()
})

test.each([
  { labels: 300, draws: 3, gain: 4 },
  { labels: 1_500, draws: 1, gain: 6 },
])(
  '$labels pairs improve what is chosen, and no draw through the gate ranks worse by .01',
  ({ labels, draws, gain }) => {
    const before = worthOf(BASE, TEST)
    const shippedRanking = rankingOf(BASE, TEST)
    for (let draw = 0; draw < draws; draw++) {
      const random = seededRandom(100 * labels + draw)
      const version = learn(pairsOf(promptsOf(labels, random), random))!
      const catalog = catalogOf(version)
      expect(worthOf(catalog, TEST)).toBeGreaterThan(before + gain)
      expect(rankingOf(catalog, TEST)).toBeGreaterThan(shippedRanking - 0.01)
    }
  },
)

test('where the built-in difficulty is right already, a draw through the gate costs at most .015, and the mean .005', () => {
  const built: Truth = (id, { text }) => {
    const strength = MODELS.findIndex((model) => model.id === id)
    return (
      1 /
      (1 +
        Math.exp(-(1 + strength * scorePrompt(text, SHIPPED_MODEL) - 3 * scorePrompt(text, SHIPPED_MODEL))))
    )
  }
  const shipped = rankingOf(BASE, TEST, built)
  const lost: number[] = []
  for (let draw = 0; draw < 4; draw++) {
    const random = seededRandom(9_012 + draw)
    const version = learn(pairsOf(promptsOf(300, random), random, built))!
    lost.push(shipped - rankingOf(catalogOf(version), TEST, built))
  }
  expect(Math.max(...lost)).toBeLessThan(0.015)
  expect(mean(lost)).toBeLessThan(0.005)
})

test('feedback of one account moves the table at most as 50 calls would, that of many as much as it is', () => {
  const feedback = (accounts: number): KnownOutcome[] =>
    Array.from({ length: 2_000 }, (_, at) => ({
      ...{
        accountId: `acct_${at % accounts}`,
        kind: 'code',
        score: 0.5,
        outcome: at % 2,
        costPico: 1n,
        pair: null,
      },
      modelId: at % 2 === 0 ? 'c/large' : 'a/small',
    }))
  const abilityOf = (outcomes: KnownOutcome[]) =>
    learn(outcomes)!.report.quality.find(({ model }) => model === 'a/small')!
  const [one, fifty, many] = [
    abilityOf(feedback(1)),
    abilityOf(feedback(1).slice(0, 100)),
    abilityOf(feedback(500)),
  ]
  expect(one.outcomes).toBeCloseTo(50)
  expect(one.after).toBeCloseTo(fifty.after, 6)
  expect(many.after - many.before).toBeGreaterThan(2 * (one.after - one.before))
  expect(learn(feedback(500))!.content.auto_head).toBeUndefined()
})

test('mild judges change no difference between models', () => {
  const outcomes = ['a/small', 'c/large'].flatMap((modelId) =>
    Array.from(
      { length: 400 },
      (_, at): KnownOutcome => ({
        ...{ accountId: `acct_${at}`, kind: 'chat', score: 0.5, outcome: 0.97, costPico: 1n, pair: null },
        modelId,
      }),
    ),
  )
  const [small, large] = learn(outcomes)!.report.quality
  expect(Math.abs(small!.after - small!.before)).toBeLessThan(0.5)
  expect(Math.abs(large!.after - small!.after)).toBeLessThan(0.35)
})
