import { statSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import weights from '../../../../src/core/auto/difficulty/difficulty-weights.json' with { type: 'json' }
import { decodeModel, SHIPPED_MODEL, scorePrompt } from '../../../../src/core/auto/difficulty/score-turns.ts'

const score = (prompt: string) => scorePrompt(prompt, SHIPPED_MODEL)

const EASY = [
  'hello',
  'Thanks!',
  'What is the capital of France?',
  'Translate "good morning" to Spanish.',
  'Tell me a joke',
  'Hallo, wie geht es dir?',
  '你好',
]
const HARD = [
  'Implement a lock-free concurrent hash map in Rust, explain the memory ordering of every atomic operation, and prove that lookups are linearizable.',
  'A train leaves A at 60 km/h and another leaves B, 300 km away, at 40 km/h half an hour later. When do they meet, and how far from A? If the first one stops 15 minutes on the way, how does the answer change?',
  'Given a directed acyclic graph with weighted edges, design an algorithm that finds, for every vertex, the number of distinct longest paths starting at it; analyze its complexity, then adapt it so that up to k edges may be reversed.',
]

/** Random characters and marks of passages, some of them many times, so that a dozen makes a long text. */
const piece = fc
  .tuple(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(
        '\n',
        '```\n',
        '<a>\n',
        '</a>\n',
        '"',
        '| a | b |\n',
        'A. x\n',
        'B. y\n',
        'Why? ',
        'word ',
      ),
    ),
    fc.constantFrom(1, 2, 40, 100),
  )
  .map(([text, times]) => text.repeat(times))

/** The fastest of some runs: what else the machine does is no cost of the scorer. */
function fastestMs(run: () => void): number {
  const runs = Array.from({ length: 15 }, () => {
    const start = performance.now()
    run()
    return performance.now() - start
  })
  return Math.min(...runs)
}

describe('the difficulty of a prompt', () => {
  test('is higher for every hard prompt than for any easy one', () => {
    expect(Math.min(...HARD.map(score))).toBeGreaterThan(Math.max(...EASY.map(score)) + 0.3)
  })

  test('is 0 for an empty prompt, and low for white space', () => {
    expect(score('')).toBe(0)
    expect(score('  \n ')).toBeLessThan(0.2)
  })

  test('is the same for the same prompt, and between 0 and 1 for any text', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const prompt = pieces.join('')
        const found = score(prompt)
        expect(found).toBeGreaterThanOrEqual(0)
        expect(found).toBeLessThanOrEqual(1)
        expect(score(prompt)).toBe(found)
      }),
      { numRuns: 300 },
    )
  })

  test('takes well under 1 ms for a usual prompt and under 5 ms for a megabyte, whatever it holds', () => {
    expect(fastestMs(() => score(HARD[0]!))).toBeLessThan(1)
    const hostile = [
      'x'.repeat(1_000_000),
      'lorem ipsum dolor '.repeat(60_000),
      '. '.repeat(500_000),
      '\nA. x\nB. y'.repeat(100_000),
      '\u0000\u0001þÿ\ud800'.repeat(200_000),
      Array.from({ length: 100_000 }, (_, index) => `word${index.toString(36)}`).join(' '),
      '证明'.repeat(500_000),
      '```((((\\'.repeat(120_000),
    ]
    for (const prompt of hostile) expect(fastestMs(() => score(prompt))).toBeLessThan(5)
  })

  test('does not grow with repetition', () => {
    const once = 'This is extremely hard: prove the theorem step by step.'
    expect(score(`${once} `.repeat(500))).toBeLessThan(score(once) + 0.3)
    expect(score(`${once} `.repeat(1000))).toBeCloseTo(score(`${once} `.repeat(500)), 1)
  })

  test('lifts an easy prompt only so far when it is stuffed with signs of difficulty', () => {
    const easy = 'What is 2+2?'
    const stuffed = `${'this is extremely hard, prove theorem, step by step, integral, algorithm. '.repeat(50)}${easy}`
    expect(score(stuffed) - score(easy)).toBeLessThan(0.4)
  })

  test('reads the question and not its options', () => {
    const question = 'Which planet is the largest?'
    const short = `${question}\nA. Mars\nB. Jupiter\nC. Venus\nD. Earth`
    const long = `${question}\n${['A', 'B', 'C', 'D'].map((letter) => `${letter}. ${'a very long option of many words '.repeat(8)}`).join('\n')}`
    expect(Math.abs(score(long) - score(short))).toBeLessThan(0.25)
  })
})

describe('the weights', () => {
  test('take less than 2 MB and say what they were trained on', () => {
    const file = new URL('../../../../src/core/auto/difficulty/difficulty-weights.json', import.meta.url)
    expect(statSync(file).size).toBeLessThan(2_000_000)
    expect(weights.data).toContain('mmlupro 6520')
  })

  test('are refused where they lack a feature, or hold something else than numbers', () => {
    const { chars: _left, ...others } = weights.features
    expect(() => decodeModel({ ...weights, features: others })).toThrow('do not match the known features')
    expect(() => decodeModel({ ...weights, features: { ...others, chars: [1, 2] } })).toThrow('chars')
    expect(() => decodeModel({ ...weights, rarity: 'AAAA' })).toThrow('rarity')
    expect(() => decodeModel({ ...weights, meanings: { ...weights.meanings, weights: 'AAAA' } })).toThrow(
      'differ in length',
    )
  })
})
