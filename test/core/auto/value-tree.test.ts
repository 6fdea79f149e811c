import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inOrderOfValue, valueTree } from '../../../src/core/auto/value-tree.ts'

const level = fc.integer({ min: 0, max: 6 })
const models = fc.array(fc.record({ ability: level, prompt: level, completion: level }), { maxLength: 40 })

test('every model comes once, the higher value first, for any weights of ability and prices', () => {
  fc.assert(
    fc.property(models, level, level, (made, promptWeight, completionWeight) => {
      const column = (of: (model: (typeof made)[number]) => number) => Float64Array.from(made, of)
      const prices = [column(({ prompt }) => prompt), column(({ completion }) => completion)]
      const tree = valueTree(
        [...made.keys()],
        column(({ ability }) => ability),
        prices,
      )
      const valueAt = (index: number) => {
        const { ability, prompt, completion } = made[index]!
        return 10 * ability - promptWeight * prompt - completionWeight * completion
      }
      const order = [...inOrderOfValue(tree, valueAt)]
      expect(order.toSorted((a, b) => a - b)).toEqual([...made.keys()])
      const values = order.map(valueAt)
      expect(values).toEqual(values.toSorted((a, b) => b - a))
    }),
  )
})

test('a model that is worse and dearer than another is looked at only after it', () => {
  const tree = valueTree([0, 1, 2], Float64Array.of(3, 2, 1), [Float64Array.of(1, 2, 0.5)])
  expect(tree.roots).toEqual([0, 2])
  expect(tree.children.get(0)).toEqual([1])
})
