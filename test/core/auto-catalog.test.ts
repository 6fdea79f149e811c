import { expect, test } from 'vitest'
import { autoTiers } from '../../src/core/auto/auto-tiers.ts'
import { exampleDocument } from '../catalog/example-document.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'

const build = (content: object) => builtCatalog([exampleDocument(), content])

test('a document sets tiers and bounds of auto, also by changes to what others hold', () => {
  const snapshot = build({
    auto_bounds: { eco: [0.3], auto: [0.2, 0.5, 0.9] },
    changes: { models: [{ id: 'acme/large-1', auto_tier: 'frontier' }] },
  })
  expect(snapshot.autoBounds).toEqual({ eco: [0.3], auto: [0.2, 0.5, 0.9] })
  expect(autoTiers(snapshot.autoLadder).tiers.frontier.map(({ id }) => id)).toEqual(['acme/large-1'])
})

test('without them, price decides, and bounds are the usual ones', () => {
  const snapshot = build({})
  expect(snapshot.autoBounds).toEqual({})
  expect(autoTiers(snapshot.autoLadder).tiers.light.map(({ id }) => id)).toEqual(['acme/large-1'])
})

test.each([
  { auto_bounds: { auto: [0.1, 0.2, 0.3, 0.4] } },
  { auto_bounds: { auto: [2] } },
  { auto_bounds: { cheap: [0.1] } },
  { changes: { models: [{ id: 'acme/large-1', auto_tier: 'best' }] } },
])('is refused where it says %j', (content) => {
  expect(() => build(content)).toThrow()
})
