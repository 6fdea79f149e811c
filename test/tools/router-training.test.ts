import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import modelQuality from '../../src/catalog/data/model-quality.json' with { type: 'json' }
import { hashWord } from '../../src/core/auto/difficulty/scan-text.ts'
import { decodeModel, scorePrompt } from '../../src/core/auto/difficulty/score-turns.ts'
import { decodeMeanings, meanMeaning } from '../../src/core/auto/difficulty/word-meanings.ts'
import { difficultyOf } from '../../src/core/auto/model-quality.ts'
import { seededRandom } from '../../src/core/kernel/seeded-random.ts'
import { qualityAt } from '../../tools/router-training/cost-curve.ts'
import { evaluate } from '../../tools/router-training/evaluate.ts'
import { evaluationReport } from '../../tools/router-training/evaluation-report.ts'
import { fitCurve } from '../../tools/router-training/fit-curve.ts'
import { splitsOf } from '../../tools/router-training/held-out-scores.ts'
import { publicFigures } from '../../tools/router-training/public-quality.ts'
import { apgr, callPerformanceThreshold, withInterval } from '../../tools/router-training/router-measures.ts'
import { type RouterRow, readExamples } from '../../tools/router-training/router-rows.ts'
import { tierCurves } from '../../tools/router-training/tier-curves.ts'
import { trainModel } from '../../tools/router-training/train-model.ts'
import { valueCurves } from '../../tools/router-training/value-curves.ts'
import { readWordVectors } from '../../tools/router-training/word-vectors.ts'

const row = (score: number, gain: number) => ({ score, gain })

describe('APGR and CPT', () => {
  test('are those of their definition on a case worked by hand', () => {
    // Four prompts, the hardest scored first: PGR is 0, 1/2, 1, 1, 1 at shares 0, 1/4, 1/2, 3/4, 1.
    const perfect = [row(4, 1), row(3, 1), row(2, 0), row(1, 0)]
    expect(apgr(perfect)).toBeCloseTo((0.25 + 0.75 + 1 + 1) / 4, 10)
    expect(callPerformanceThreshold(perfect, 0.5)).toBe(0.25)
    expect(callPerformanceThreshold(perfect, 0.8)).toBeCloseTo(0.4, 10)
    const worst = perfect.map(({ score, gain }) => row(-score, gain))
    expect(apgr(worst)).toBeCloseTo(1 - apgr(perfect), 10)
  })

  test('take ties for random order', () => {
    const tied = [row(1, 1), row(1, 0), row(1, 0), row(1, 1)]
    expect(apgr(tied)).toBe(0.5)
    expect(callPerformanceThreshold(tied, 0.8)).toBeCloseTo(0.8, 10)
  })

  test('come with an interval that holds the value and shrinks with more rows', () => {
    const random = seededRandom(7)
    const rows = Array.from({ length: 2_000 }, () => row(random(), random() < 0.3 ? 1 : 0))
    const few = withInterval(rows.slice(0, 100), apgr, 100)
    const many = withInterval(rows, apgr, 100)
    expect(many.low).toBeLessThan(0.5)
    expect(many.high).toBeGreaterThan(0.5)
    expect(many.high - many.low).toBeLessThan(few.high - few.low)
  })
})

const WORDS = 'river stone cloud garden window market letter winter music bridge coffee paper silver'.split(
  ' ',
)

const SUBJECTS = [
  'physics',
  'law',
  'health',
  'history',
  'chemistry',
  'business',
  'psychology',
  'computer science',
]

/** Made-up rows in which the weak tier fails the more, the longer the question is. */
function madeUpLines(datasets: string[]): string {
  const random = seededRandom(3)
  const word = () => WORDS[Math.floor(random() * WORDS.length)]!
  return datasets
    .flatMap((ds, set) =>
      Array.from({ length: 160 }, (_, index) => {
        const length = 3 + Math.floor(random() * 40)
        const text = Array.from({ length }, (_, at) => `${word()}${at}x${index}`).join(' ')
        const weak = random() < length / 45 ? 0 : 1
        return JSON.stringify({
          id: `${ds}/${index}`,
          ds,
          fam: ds,
          cat: SUBJECTS[(index + set) % SUBJECTS.length],
          prompt: `${text}?`,
          weak,
          strong: 1,
        })
      }),
    )
    .join('\n')
}

async function withFile<T>(bytes: string | Buffer, name: string, use: (path: string) => T): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'router-rows-'))
  try {
    const path = join(folder, name)
    await writeFile(path, bytes)
    return use(path)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** A file of word vectors: each word points along one of the two axes. */
function vectorFile(): Buffer {
  const hashes = WORDS.map((word) => hashWord(word) >>> 0).sort((a, b) => a - b)
  const columns = [
    Uint32Array.of(hashes.length, 2),
    Float32Array.of(1 / 127, 1 / 127),
    Uint32Array.from(hashes),
    new Uint8Array(hashes.length).fill(255),
    Int8Array.from(hashes.flatMap((_, row) => (row % 2 === 0 ? [127, 0] : [0, 127]))),
  ]
  return Buffer.concat(columns.map(({ buffer }) => Buffer.from(buffer)))
}

const vectors = await withFile(vectorFile(), 'vectors.bin', readWordVectors)

const read = (lines: string) =>
  withFile(gzipSync(lines), 'rows.jsonl.gz', (path) => readExamples(path, vectors))

describe('training', () => {
  test('learns on one data set what holds on another, and is measured better than random there', async () => {
    const examples = await read(madeUpLines(['one', 'two', 'three']))
    const evaluation = evaluate(examples, vectors, 50)
    expect(evaluation.ranking['families left out'].map(({ dataset }) => dataset)).toEqual([
      'one',
      'two',
      'three',
      'equal parts of every family',
    ])
    for (const { apgr } of evaluation.ranking['families left out']) {
      expect(apgr.low).toBeGreaterThan(0.5)
    }
    const report = evaluationReport(evaluation)
    expect(report).toContain('**Families left out**')
    expect(report).toContain('| one | 160 | .')
  })

  test('compares policies of choosing among named models, by the shipped rule and beside an oracle', async () => {
    const random = seededRandom(5)
    const lines = ['one', 'two'].flatMap((ds) =>
      Array.from({ length: 800 }, (_, index) => {
        const isCode = index % 2 === 0
        const prompt = isCode
          ? `Write a python function number ${index}`
          : `How far is town ${index}, and why?`
        // Each model is good at one kind only.
        const haiku = random() < (isCode ? 0.2 : 0.9) ? 1 : 0
        const sonnet = random() < (isCode ? 0.95 : 0.4) ? 1 : 0
        const pairs = [['claude-3-haiku-20240307', 'claude-3-5-sonnet-20241022', haiku, sonnet]]
        return JSON.stringify({
          id: `${ds}${index}`,
          ds,
          fam: ds,
          cat: ds,
          prompt,
          weak: haiku,
          strong: sonnet,
          pairs,
        })
      }),
    )
    const examples = await read(lines.join('\n'))
    const [result] = valueCurves(examples.map((one) => ({ ...one, score: 0.5 })))
    const at = (policy: string) => result!.policies.find((one) => one.policy === policy)!.qualityAt[2]!
    expect(result!.models.map(({ name }) => name)).toEqual([
      'claude-3-haiku-20240307',
      'claude-3-5-sonnet-20241022',
    ])
    expect(at('single models, mixed at random')).toBeLessThan(0.7)
    expect(at('value, published quality')).toBeGreaterThan(0.45)
    expect(at('oracle')).toBeGreaterThan(at('value, published quality'))

    // The same as a choice of tiers: the data has one model of `standard` and one of `frontier`, which stand for the others.
    const tiers = tierCurves(
      examples.map((one) => ({ ...one, score: 0.5 })),
      { resamples: 20 },
    )!
    expect(tiers.families).toEqual({ one: 800, two: 800 })
    const [light, standard, strong, frontier] = tiers.tiers
    expect(light).toEqual({ ...standard, tier: 'light' })
    expect(strong).toEqual({ ...frontier, tier: 'strong' })
    expect(strong!.costShare).toBe(1)
    const half = (policy: string) => tiers.policies.find((one) => one.policy.startsWith(policy))!.quality[1]!
    const mixed = half('neighbouring tiers')
    expect(mixed.low).toBeLessThan(mixed.value)
    expect(mixed.high).toBeGreaterThan(mixed.value)
    expect(mixed.value).toBeLessThan(0.7)
    expect(half('oracle').value).toBeGreaterThan(half('value, public figures').value)
    expect(tiers.profiles.map(({ profile }) => profile)).toEqual(['eco', 'auto', 'premium'])
  })

  test('mixes of two settings count, and for neighbours only mixes of consecutive ones', () => {
    const points = [
      { usd: 0, quality: 0 },
      { usd: 1, quality: 0.2 },
      { usd: 2, quality: 1 },
    ]
    expect(qualityAt(points, 1)).toBeCloseTo(0.5)
    expect(qualityAt(points, 1, true)).toBeCloseTo(0.2)
    expect(qualityAt(points, 1.5, true)).toBeCloseTo(0.6)
    expect(qualityAt(points, 3)).toBe(1)
    expect(qualityAt(points, -1)).toBe(0)
  })

  test('fits the curve of expected quality to results', () => {
    const random = seededRandom(6)
    const results = Array.from({ length: 4_000 }, (_, index) => {
      const [ability, score] = [4 * random() - 2, random()]
      const expected = 1 / (1 + Math.exp(-(ability - 0.5 * difficultyOf(score) + 1)))
      const dataset = index % 2 === 0 ? 'a' : 'b'
      return { dataset, kind: 'code' as const, ability, score, result: random() < expected ? 1 : 0 }
    })
    const { perAbility, perDifficulty, ease } = fitCurve(results)
    expect(perAbility).toBeCloseTo(1, 0)
    expect(perDifficulty.code).toBeCloseTo(0.5, 0)
    expect(ease.code).toBeCloseTo(1, 0)
    expect(ease.chat).toBe(ease.code)
  })

  test('restates the published figures as the catalog has them', () => {
    const listed = publicFigures().filter(({ isListed }) => isListed)
    const models = Map.groupBy(listed, ({ model }) => model)
    expect(modelQuality.changes.models.map(({ id }) => id)).toEqual([...models.keys()].sort())
    for (const { id, quality } of modelQuality.changes.models) {
      for (const { kind, model: _, isListed: __, ...figure } of models.get(id)!)
        expect(quality).toMatchObject({ [kind]: figure })
    }
  })

  test('gives the same weights for the same rows', async () => {
    const examples = await read(madeUpLines(['one', 'two']))
    const about = { data: 'made up' }
    const weights = trainModel(examples, vectors, about)
    expect(trainModel(examples, vectors, about)).toEqual(weights)
    const score = scorePrompt('river stone cloud?', decodeModel(weights))
    expect(score).toBeGreaterThan(0)
    expect(score).toBeLessThan(1)
  })

  test('the shipped meanings of words give the product of a head with the mean vector, within a byte', () => {
    const head = [0.3, -0.7]
    const document = vectors.meanings(head)
    const meanings = decodeMeanings(document)
    for (const text of ['', 'river', 'river stone cloud qqxzw']) {
      const words = text.split(' ').map(hashWord)
      const mean = vectors.meanVector(words)
      const product = mean[0]! * head[0]! + mean[1]! * head[1]!
      expect(Math.abs(meanMeaning(words, meanings) - product)).toBeLessThanOrEqual(document.unit)
    }
    const cut = withFile(vectorFile().subarray(0, 90), 'vectors.bin', readWordVectors)
    return expect(cut).rejects.toThrow('does not match its header')
  })

  test('the number of an unreadable line is reported', async () => {
    const bad = withFile(
      '{"id":"a","ds":"d","fam":"f","cat":"c","prompt":"p","weak":2,"strong":1}',
      'rows.jsonl',
      (path) => readExamples(path, vectors),
    )
    await expect(bad).rejects.toThrow('line 1')
  })

  test('never has a question on both sides of a split, and scores every row of many subjects', async () => {
    const rows: RouterRow[] = (await read(madeUpLines(['one', 'two']))).map(({ row }) => row)
    const again = rows.slice(0, 50).map((one) => ({ ...one, subject: 'another', family: 'two' }))
    const all = [...rows, ...again]
    for (const [protocol, splits] of Object.entries(splitsOf(all))) {
      expect(splits.length, protocol).toBeGreaterThan(1)
      for (const { train, test } of splits) {
        const tested = new Set(test.map((index) => all[index]!.key))
        expect(train.filter((index) => tested.has(all[index]!.key))).toEqual([])
      }
    }
    expect(splitsOf(all)['families left out'].flatMap(({ test }) => test)).toHaveLength(all.length)
  })
})
