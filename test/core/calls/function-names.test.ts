import fc from 'fast-check'
import { expect, test } from 'vitest'
import { functionNaming, portableName } from '../../../src/core/calls/function-names.ts'

test('names are taken by every wire, the same for the same, and others for others', () => {
  const names = fc.oneof(fc.string({ minLength: 1, maxLength: 200 }), fc.stringMatching(/^[a-z]{60,80}$/))
  fc.assert(
    fc.property(names, names, (one, other) => {
      expect(portableName(one)).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/)
      expect(portableName(one) === portableName(other)).toBe(one === other)
    }),
    { numRuns: 500 },
  )
})

test('a portable name stays as it is', () => {
  expect(portableName('find_train')).toBe('find_train')
  expect(portableName('a'.repeat(64))).toBe('a'.repeat(64))
})

test('each tool of a namespace has a portable name of its own within a request, the same for the same tools', () => {
  const part = fc.oneof(fc.stringMatching(/^_?a_{0,3}b?_{0,2}$/), fc.string({ minLength: 1, maxLength: 80 }))
  const tools = fc.uniqueArray(fc.tuple(part, part), {
    minLength: 1,
    maxLength: 20,
    selector: (tool) => JSON.stringify(tool),
  })
  fc.assert(
    fc.property(tools, fc.array(part), (pairs, plain) => {
      const taken = [...plain, ...pairs.map(([namespace, name]) => `${namespace}__${name}`).slice(0, 2)]
      const namesBy = () => {
        const naming = functionNaming(taken)
        const names = () => pairs.map(([namespace, name]) => naming({ namespace, name }) as string)
        expect(names()).toEqual(names())
        return names()
      }
      const names = namesBy()
      expect(names).toEqual(namesBy())
      expect(new Set([...names, ...taken]).size).toBe(pairs.length + new Set(taken).size)
      for (const name of names) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/)
    }),
    { numRuns: 300 },
  )
})

test('a joined name is read as one, and a name without a namespace stays as it is', () => {
  const naming = functionNaming(['crm__find'])
  expect(naming({ namespace: 'mcp__files', name: 'read' })).toBe('mcp__files__read')
  expect(naming({ namespace: 'crm', name: 'find' })).toMatch(/^___crm___find___[0-9a-f]{12}$/)
  for (const name of ['read', '', 7, undefined]) expect(naming({ namespace: null, name })).toBe(name)
})
