import { expect, test } from 'vitest'
import { documentChanges } from '../../../src/core/catalog/document-changes.ts'

const rate = (prompt: string) => ({ changes: { models: [{ id: 'openai/gpt-5', rate: { prompt } }] } })

test('a changed value is reported with its path, before and after', () => {
  expect(documentChanges(rate('1.25'), rate('1.10'))).toEqual([
    'changes.models[openai/gpt-5].rate.prompt: 1.25 → 1.10',
  ])
})

test('added and removed values are reported one by one', () => {
  const disabled = { changes: { offers: [{ provider: 'alpha', upstream_model: 'big', disabled: true }] } }
  expect(documentChanges(null, disabled)).toEqual(['changes.offers[alpha/big].disabled: none → true'])
  expect(documentChanges(disabled, {})).toEqual(['changes.offers[alpha/big].disabled: true → none'])
})

test('the order of entries is ignored, and lists of plain values are reported whole', () => {
  const [one, other] = [
    { id: 'a', tags: ['x', 'y'] },
    { id: 'b', tags: [] },
  ]
  expect(documentChanges({ models: [one, other] }, { models: [other, one] })).toEqual([])
  expect(documentChanges({ models: [one] }, { models: [{ ...one, tags: ['y'] }] })).toEqual([
    'models[a].tags: ["x","y"] → ["y"]',
  ])
})

test('entries without a name or with equal names are reported as a whole', () => {
  expect(documentChanges({ models: [{ id: 'a' }, { id: 'a', n: 1 }] }, { models: [] })).toEqual([
    'models: [{"id":"a"},{"id":"a","n":1}] → none',
  ])
})
