import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PrefixGuard } from '../../../src/calls/attempts/prefix-guard.ts'
import type { Progress } from '../../../src/core/calls/completion.ts'

function guarded(expected: string, pieces: string[]) {
  let passed = ''
  let stopped = 0
  const onward = ([, content]: Progress) => {
    passed += content
  }
  const guard = new PrefixGuard(expected, onward, () => stopped++)
  for (const piece of pieces) guard.push(['text', piece])
  return { passed, stopped, guard }
}

const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '😀') }), { maxLength: 8 })

describe('PrefixGuard', () => {
  test('passes on exactly what follows the delivered text, however either is cut', () => {
    fc.assert(
      fc.property(pieces, fc.nat(), (said, cut) => {
        const whole = said.join('')
        const expected = whole.slice(0, cut % (whole.length + 1))
        const { passed, guard } = guarded(expected, said)
        expect(guard.hasTakenOver).toBe(true)
        expect(expected + passed).toBe(whole)
      }),
    )
  })

  test('passes on nothing, and stops once, when the text differs', () => {
    fc.assert(
      fc.property(pieces, pieces, (delivered, said) => {
        const expected = delivered.join('')
        const whole = said.join('')
        fc.pre(!whole.startsWith(expected) && !expected.startsWith(whole))
        const { passed, stopped, guard } = guarded(expected, said)
        expect({ passed, stopped, takenOver: guard.hasTakenOver, differs: guard.differs }).toEqual({
          passed: '',
          stopped: 1,
          takenOver: false,
          differs: true,
        })
      }),
    )
  })

  test('an answer that ends before it said all that was delivered has not taken over', () => {
    expect(guarded('abc', ['ab']).guard.hasTakenOver).toBe(false)
  })

  test('tool calls or a refusal in place of the text are a difference', () => {
    const { guard } = guarded('abc', ['ab'])
    guard.push(['tool-calls', [{ index: 0 }]])
    expect(guard.differs).toBe(true)
  })
})
