import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EchoGuard, PrefixGuard } from '../../../../src/calls/worker/attempts/prefix-guard.ts'
import {
  CompletionBuilder,
  type Delta,
  type FinishReason,
  type Progress,
  type ToolCallDelta,
} from '../../../../src/core/calls/completion.ts'

function guarded(expected: string, pieces: string[]) {
  let passed = ''
  let stopped = 0
  const onward = ([, content]: Progress) => {
    passed += content
  }
  const guard = new PrefixGuard({ content: expected, toolCalls: new Map() }, onward, () => stopped++)
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

  describe('where tool calls were delivered', () => {
    const call = (index: number, name: string, json: string, id = `call_${index}`): ToolCallDelta[] => [
      { index, id, type: 'function', function: { name, arguments: '' } },
      ...[...json].map((piece) => ({ index, function: { arguments: piece } })),
    ]
    const deltasOf = (...calls: ToolCallDelta[][]): Delta[] =>
      calls.flat().map((delta) => ['tool-calls', [delta]])
    const answer = (id = 'call') =>
      deltasOf(call(0, 'add', '{"a":1}', `${id}_0`), call(1, 'find', '{"town":"Basel"}', `${id}_1`))

    /** What the client has in the end, and what was passed on of the attempt. */
    function rescued(delivered: readonly Delta[], said: readonly Delta[]) {
      const client = new CompletionBuilder()
      for (const delta of delivered) client.add(delta)
      const passed: Progress[] = []
      const onward = (progress: Progress) => {
        passed.push(progress)
        client.add(progress as Delta)
      }
      const guard = new PrefixGuard(client, onward, () => undefined)
      for (const delta of said) guard.push(delta)
      return { guard, passed, message: client.message() }
    }

    test('the same calls are continued wherever they broke off, under the ids that the client has', () => {
      const whole = answer('first')
      for (let cut = 1; cut <= whole.length; cut++) {
        const { guard, message } = rescued(whole.slice(0, cut), answer('second'))
        expect(guard.hasTakenOver, `${cut}`).toBe(true)
        expect(message.tool_calls!.map(({ function: called }) => called)).toEqual([
          { name: 'add', arguments: '{"a":1}' },
          { name: 'find', arguments: '{"town":"Basel"}' },
        ])
        expect(message.tool_calls![0]!.id).toBe('first_0')
        expect(message.tool_calls![1]!.id).toBe(cut > 8 ? 'first_1' : 'second_1')
      }
    })

    test('text before them is compared as well', () => {
      const spoken: Delta[] = [['text', 'Let me see.'], ...answer()]
      expect(rescued(spoken.slice(0, 4), spoken).guard.hasTakenOver).toBe(true)
      expect(rescued(spoken.slice(0, 4), answer())).toMatchObject({ guard: { differs: true }, passed: [] })
      expect(rescued(answer().slice(0, 4), spoken)).toMatchObject({ guard: { differs: true }, passed: [] })
    })

    test.each([
      ['another tool', deltasOf(call(0, 'subtract', '{"a":1}'))],
      ['other arguments', deltasOf(call(0, 'add', '{"b":1}'))],
      ['another call first', deltasOf(call(1, 'find', '{}'), call(0, 'add', '{"a":1}'))],
      ['text', [['text', 'No.']] as Delta[]],
      ['a refusal', [['refusal', 'No.']] as Delta[]],
    ])('%s is a difference, and nothing is passed on', (_, said) => {
      const { guard, passed } = rescued(deltasOf(call(0, 'add', '{"a"')), said)
      expect(guard.differs).toBe(true)
      expect(passed).toEqual([])
    })
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
