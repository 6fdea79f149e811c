import { expect, test } from 'vitest'
import type { CatalogModel } from '../../web/lib/models/model-catalog.ts'
import {
  averageCall,
  costOfThousand,
  standingsOf,
  TYPICAL_CALL,
} from '../../web/lib/models/model-comparison.ts'
import { frontierOf, qualitySource, qualityText } from '../../web/lib/models/model-quality.ts'

const model = (prompt: string, completion: string, unit?: string) =>
  ({ prompt, completion, unit }) as CatalogModel

test('a thousand calls cost a thousand times the average call, at the rates per million tokens', () => {
  const size = averageCall({ calls: 4, prompt_tokens: 8_000, completion_tokens: 2_000 })
  expect(size).toEqual({ prompt: 2_000, completion: 500 })
  expect(costOfThousand(model('1.50', '6.00'), size)).toBe(6)
  expect(costOfThousand(model('0', '0', 'image'), size)).toBeNull()
  expect(averageCall({ calls: 0, prompt_tokens: 0, completion_tokens: 0 })).toEqual(TYPICAL_CALL)
})

test('the best of a row is marked, all of them where some are equal, and none where nothing differs', () => {
  const best = (...[values, better]: Parameters<typeof standingsOf>) =>
    standingsOf(values, better).map((standing) => standing?.isBest ?? null)
  expect(best([3, 1, null, 1], 'lower')).toEqual([false, true, null, true])
  expect(best([3, 1, null], 'higher')).toEqual([true, false, null])
  expect(best([2, 2], 'lower')).toEqual([false, false])
  expect(best([2, null], 'lower')).toEqual([false, null])
  expect(standingsOf([4, 1, null], 'lower').map((standing) => standing?.share)).toEqual([1, 0.25, undefined])
})

test('a quality has its error, and names who measured it or that it is an estimate', () => {
  const quality = { value: 0.524, standard_error: 0.003, basis: 'line', source: null } as const
  expect(qualityText(quality)).toBe('52% ± 1')
  expect(qualitySource(quality)).toBe('Estimated from the version before it')
  expect(qualitySource({ ...quality, basis: 'measured', source: 'LiveBench' })).toBe('LiveBench')
})

test('the line of the best leaves out a model where another is as cheap and as good', () => {
  const points = [
    ...[
      { x: 5, y: 0.9 },
      { x: 1, y: 0.4 },
      { x: 1, y: 0.5 },
    ],
    ...[
      { x: 2, y: 0.5 },
      { x: 9, y: 0.8 },
    ],
  ]
  expect(frontierOf(points)).toEqual([
    { x: 1, y: 0.5 },
    { x: 5, y: 0.9 },
  ])
})
