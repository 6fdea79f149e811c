import { readFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { hashWord } from '../../../src/core/auto/difficulty/scan-text.ts'
import { decodeMeanings, meanMeaning } from '../../../src/core/auto/difficulty/word-meanings.ts'
import { DIMENSIONS, meanVector, wordMeanings } from '../../../src/routing/learning/word-vectors.ts'

const words = (text: string) => text.split(' ').map(hashWord)
const dot = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((sum, value, at) => sum + value * b[at]!, 0)
const cosine = (a: string, b: string) => {
  const [left, right] = [meanVector(words(a)), meanVector(words(b))]
  return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right))
}

test('words of one meaning are closer than words of another', () => {
  expect(cosine('integral', 'derivative')).toBeGreaterThan(cosine('integral', 'birthday'))
  expect(cosine('physician', 'hospital')).toBeGreaterThan(cosine('physician', 'compiler'))
})

test('unknown words have no vector, and do not change that of others but by their absence', () => {
  expect([...meanVector(words('qqxzw zzqwx'))]).toEqual(new Array(DIMENSIONS).fill(0))
  expect([...meanVector(words('river qqxzw'))]).toEqual([...meanVector(words('river'))])
})

test('the shipped meanings of words give the product of a head with the mean vector, within a byte', () => {
  const head = Array.from({ length: DIMENSIONS }, (_, at) => Math.sin(at))
  const document = wordMeanings(head)
  const meanings = decodeMeanings(document)
  for (const text of ['', 'river', 'prove that the series converges', 'qqxzw']) {
    const difference = meanMeaning(words(text), meanings) - dot(meanVector(words(text)), head)
    expect(Math.abs(difference)).toBeLessThanOrEqual(document.unit)
  }
  expect(() => decodeMeanings({ ...document, weights: 'AAAA' })).toThrow('differ in length')
})

test('the weights of auto take at most 2.2 MB, and NOTICE names the origin of the vectors', () => {
  const root = new URL('../../../', import.meta.url)
  const { size } = statSync(new URL('src/core/auto/difficulty/difficulty-weights.json', root))
  expect(size).toBeLessThan(2_200_000)
  const notice = readFileSync(new URL('NOTICE', root), 'utf8')
  expect(notice).toMatch(/word-vectors\.bin[\s\S]*all-MiniLM-L6-v2[\s\S]*Apache License, Version 2\.0/)
})
