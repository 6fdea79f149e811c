import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EchoGuard } from '../../../src/calls/attempts/prefix-guard.ts'
import type { FinishReason } from '../../../src/core/calls/completion.ts'

function guarded(prefill: string, pieces: string[], reason: FinishReason = 'stop') {
  let passed = ''
  const guard = new EchoGuard(prefill, ([, content]) => {
    passed += content
  })
  for (const piece of pieces) guard.push(['text', piece])
  return { passed: () => passed, guard, isWhole: guard.finish(reason) }
}

const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '😀') }), { maxLength: 8 })

describe('EchoGuard', () => {
  test('takes a repeated prefill off, however it is cut', () => {
    fc.assert(
      fc.property(pieces, fc.nat(), (said, cut) => {
        const whole = said.join('')
        const prefill = whole.slice(0, cut % (whole.length + 1))
        expect(prefill + guarded(prefill, said).passed()).toBe(whole)
      }),
    )
  })

  test('passes on a continuation as it is, however it is cut', () => {
    fc.assert(
      fc.property(pieces, pieces, (before, said) => {
        const prefill = before.join('')
        fc.pre(!said.join('').startsWith(prefill))
        expect(guarded(prefill, said).passed()).toBe(said.join(''))
      }),
    )
  })

  test('passes on nothing of what was cut in the middle of a repetition', () => {
    const { passed, isWhole } = guarded('abc', ['a', 'b'], 'length')
    expect({ passed: passed(), isWhole }).toEqual({ passed: '', isWhole: false })
  })

  test('passes on what it held back before a refusal', () => {
    const { passed, guard } = guarded('abc', [])
    guard.push(['refusal', 'no'])
    expect(passed()).toBe('no')
  })
})
