import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EchoGuard, PrefixGuard } from '../../../src/calls/attempts/completion-relay.ts'
import type { FinishReason, Progress } from '../../../src/core/calls/completion.ts'

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

function echoGuarded(prefill: string, pieces: string[], reason: FinishReason = 'stop') {
  let passed = ''
  const guard = new EchoGuard(prefill, ([, content]) => {
    passed += content
  })
  for (const piece of pieces) guard.push(['text', piece])
  return { passed: () => passed, guard, isWhole: guard.finish(reason) }
}

describe('EchoGuard', () => {
  test('takes a repeated prefill off, however it is cut', () => {
    fc.assert(
      fc.property(pieces, fc.nat(), (said, cut) => {
        const whole = said.join('')
        const prefill = whole.slice(0, cut % (whole.length + 1))
        expect(prefill + echoGuarded(prefill, said).passed()).toBe(whole)
      }),
    )
  })

  test('passes on a continuation as it is, however it is cut', () => {
    fc.assert(
      fc.property(pieces, pieces, (before, said) => {
        const prefill = before.join('')
        fc.pre(!said.join('').startsWith(prefill))
        expect(echoGuarded(prefill, said).passed()).toBe(said.join(''))
      }),
    )
  })

  test('passes on nothing of what was cut in the middle of a repetition', () => {
    const { passed, isWhole } = echoGuarded('abc', ['a', 'b'], 'length')
    expect({ passed: passed(), isWhole }).toEqual({ passed: '', isWhole: false })
  })

  test('passes on what it held back before a refusal', () => {
    const { passed, guard } = echoGuarded('abc', [])
    guard.push(['refusal', 'no'])
    expect(passed()).toBe('no')
  })
})
