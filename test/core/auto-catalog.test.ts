import { expect, test } from 'vitest'
import { autoLadder } from '../../src/core/auto/auto-ladder.ts'
import { exampleDocument } from '../catalog/example-document.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'

const build = (content: object) => builtCatalog([exampleDocument(), content])
const figure = { value: 0.8, standard_error: 0.03, source: 'a benchmark', date: '2026-06-25' }

test('a document sets quality and prices of a point, also by changes to what others hold', () => {
  const snapshot = build({
    auto_point_usd: { eco: 0.2, premium: 20 },
    changes: { models: [{ id: 'acme/large-1', quality: { code: figure } }] },
  })
  expect(snapshot.autoPointUsd).toEqual({ eco: 0.2, premium: 20 })
  const model = snapshot.models.get('acme/large-1')!
  expect(model.quality).toEqual({
    code: { value: 0.8, standardError: 0.03, source: 'a benchmark', date: '2026-06-25' },
  })
  const ladder = autoLadder(snapshot.autoLadder)
  expect(ladder.abilities[0]!.code.basis).toBe('measured')
  expect(ladder.abilities[0]!.chat.basis).toBe('other kinds')
})

test('without them, price decides, and a point costs the usual', () => {
  const snapshot = build({})
  expect(snapshot.autoPointUsd).toEqual({})
  const ladder = autoLadder(snapshot.autoLadder)
  expect(ladder.abilities[0]!.code.basis).toBe('price')
})

test('a stored document with tiers or their bounds stays valid, without effect', () => {
  const changes = { models: [{ id: 'acme/large-1', auto_tier: 'frontier' }] }
  const { autoLadder } = build({ auto_bounds: { auto: [0.2, 0.5, 0.9] }, changes })
  expect(autoLadder).toEqual(build({}).autoLadder)
})

test.each([
  { auto_point_usd: { auto: 0 } },
  { auto_point_usd: { cheap: 1 } },
  { changes: { models: [{ id: 'acme/large-1', quality: { code: { ...figure, value: 80 } } }] } },
  { changes: { models: [{ id: 'acme/large-1', quality: { poetry: figure } }] } },
])('is refused where it says %j', (content) => {
  expect(() => build(content)).toThrow()
})
