import { describe, expect, test, vi } from 'vitest'
import { CompletionBuilder, type CompletionEvent, isDelta } from '../../src/core/calls/completion.ts'
import { ChatReader } from '../../src/providers/chat-completions.ts'
import { ToolCallIds, ToolCallReader } from '../../src/providers/tool-calls.ts'

/** The calls that a strict client makes of deltas: an id and a name belong to the first piece only. */
function calls(...deltas: unknown[]) {
  const reader = new ToolCallReader(new ToolCallIds())
  const pieces = [...deltas.flatMap((delta) => reader.read(delta, false) ?? []), ...reader.end()]
  const begun = new Set<number>()
  for (const { index, id, type, function: called } of pieces) {
    const isFirst = !begun.has(index)
    begun.add(index)
    expect([id !== undefined, type !== undefined, called?.name !== undefined]).toEqual(Array(3).fill(isFirst))
  }
  const builder = new CompletionBuilder()
  builder.add(['tool-calls', pieces])
  const made = builder.message().tool_calls ?? []
  expect(new Set(made.map(({ id }) => id)).size).toBe(made.length)
  return made.map(({ function: { name, arguments: json } }) => [name, json])
}

const piece = (json: unknown, more: object = {}, name?: string) => [
  { ...more, function: { ...(name !== undefined && { name }), arguments: json } },
]
const TWO = [
  ['f', '{"x":1}'],
  ['g', '{"y":2}'],
]

test('a `function_call` of the time before `tool_calls` is a call, whole and in pieces', () => {
  const read = (isWhole: boolean, ...messages: object[]) => {
    const builder = new CompletionBuilder()
    const reader = new ChatReader()
    for (const message of messages) {
      const body = JSON.stringify({ choices: [{ index: 0, [isWhole ? 'message' : 'delta']: message }] })
      const emit = (event: CompletionEvent) => isDelta(event) && builder.add(event)
      if (isWhole) reader.whole(body, emit)
      else reader.event(body, emit)
    }
    return builder.message().tool_calls?.map(({ function: called }) => called)
  }
  const called = { name: 'f', arguments: '{"x":1}' }
  expect(read(true, { content: null, function_call: called })).toEqual([called])
  const pieces = [{ name: 'f', arguments: '' }, { arguments: '{"x"' }, { arguments: ':1}' }]
  expect(read(false, ...pieces.map((piece) => ({ function_call: piece })))).toEqual([called])
  expect(read(true, { content: 'Hi', function_call: { name: '', arguments: '' } })).toBeUndefined()
})

test.each([
  ['in a text', '{"x":"', '{}', '"}'],
  ['and are no JSON', '{x', '{}', '}'],
  ['after an end that was none', '{x}', '{x}', '{x}'],
])('arguments whose pieces look like objects %s are parsed once at most', (_, first, between, last) => {
  const parse = vi.spyOn(JSON, 'parse')
  const pieces = [first, ...Array(500).fill(between), last]
  const made = calls(...pieces.map((json) => piece(json, {}, 'f')))
  expect(parse.mock.calls.length).toBeLessThan(2)
  parse.mockRestore()
  expect(made).toEqual([['f', pieces.join('')]])
})

describe('the deltas of two calls become two calls', () => {
  test.each<[string, unknown[]]>([
    [
      'with index and id',
      [
        piece('', { index: 0, id: 'call_a', type: 'function' }, 'f'),
        piece('{"x"', { index: 0 }),
        piece(':1}', { index: 0 }),
        piece('{"y":2}', { index: 1, id: 'call_b', type: 'function' }, 'g'),
      ],
    ],
    ['without an index', [piece('{"x":', { id: 'a' }, 'f'), piece('1}'), piece('{"y":2}', { id: 'b' }, 'g')]],
    [
      'with one index for both',
      [piece('{"x":1}', { index: 0, id: 'a' }, 'f'), piece('{"y":2}', { index: 0, id: 'b' }, 'g')],
    ],
    [
      'with one index and empty ids',
      [piece('{"x":1}', { index: 0, id: '' }, 'f'), piece('{"y":2}', { index: 0, id: '' }, 'g')],
    ],
    [
      'with one id and two indexes',
      [piece('{"x":1}', { index: 0, id: 'f' }, 'f'), piece('{"y":2}', { index: 1, id: 'f' }, 'g')],
    ],
    [
      'with the id in each piece, and mixed',
      [
        piece('{"x"', { id: 'a' }, 'f'),
        piece('{"y"', { id: 'b' }, 'g'),
        piece(':1}', { id: 'a' }),
        piece(':2}', { id: 'b' }),
      ],
    ],
    [
      'with empty ids and names in later pieces',
      [
        piece('{"x":', { index: 0, id: 'a' }, 'f'),
        piece('1}', { index: 0, id: '' }, ''),
        piece('{"y":2}', { index: 1, id: 'b' }, 'g'),
      ],
    ],
    [
      'with null ids and names in later pieces, from 1 on',
      [
        piece('{"x":', { index: 1, id: 'a' }, 'f'),
        [{ index: 1, id: null, function: { name: null, arguments: '1}' } }],
        piece('{"y":2}', { index: 2, id: 'b' }, 'g'),
      ],
    ],
    [
      'with the name in each piece',
      [
        piece('{"x":', { index: 0, id: 'a' }, 'f'),
        piece('1}', { index: 0 }, 'f'),
        piece('{"y":2}', { index: 1, id: 'b' }, 'g'),
      ],
    ],
    [
      'with another id in each piece',
      [
        piece('{"x":', { index: 0, id: 'a' }, 'f'),
        piece('1}', { index: 0, id: 'b' }),
        piece('{"y":2}', { index: 1, id: 'c' }, 'g'),
      ],
    ],
    [
      'with the id and the name after the arguments have begun',
      [
        piece('{"x":', { index: 0 }),
        piece('1}', { index: 0, id: 'a' }, 'f'),
        piece('{"y":2}', { index: 1 }, 'g'),
      ],
    ],
    [
      'with objects as arguments',
      [piece({ x: 1 }, { index: 0, id: 'a' }, 'f'), piece({ y: 2 }, { index: 1 }, 'g')],
    ],
    [
      'as one object instead of a list',
      [piece('{"x":1}', { index: 0, id: 'a' }, 'f')[0], piece('{"y":2}', { index: 1, id: 'b' }, 'g')[0]],
    ],
  ])('%s', (_how, deltas) => {
    expect(calls(...deltas)).toEqual(TWO)
  })

  test('of the same function, without ids and indexes', () => {
    expect(calls(piece('{"x":1}', {}, 'f'), piece('{"x":2}', {}, 'f'))).toEqual([
      ['f', '{"x":1}'],
      ['f', '{"x":2}'],
    ])
  })
})

test('the entries of a whole message are one call each, whatever their ids', () => {
  const reader = new ToolCallReader(new ToolCallIds())
  const entry = { id: '', type: 'function', function: { name: 'f', arguments: '{}' } }
  const deltas = reader.read([entry, entry, { ...entry, id: 'call_a' }, { ...entry, id: 'call_a' }], true)
  expect(deltas?.map(({ index }) => index)).toEqual([0, 1, 2, 3])
  expect(new Set(deltas?.map(({ id }) => id)).size).toBe(4)
})

test('a call without arguments gets `{}` when the completion is whole', () => {
  expect(
    calls([
      { index: 0, id: 'a', function: { name: 'f', arguments: '' } },
      { index: 1, id: 'b', function: { name: 'g' } },
      { index: 2, id: 'c', function: { name: 'h', arguments: null } },
      { index: 3, id: 'd', function: { name: 'i', arguments: '{"x":1}' } },
    ]),
  ).toEqual([
    ['f', '{}'],
    ['g', '{}'],
    ['h', '{}'],
    ['i', '{"x":1}'],
  ])
})

test('a call that never gets a name is not passed on', () => {
  expect(
    calls(piece('{"x":1}', { index: 0, id: 'a' }), piece('{"y":2}', { index: 1, id: 'b' }, 'g')),
  ).toEqual([['g', '{"y":2}']])
})

test('calls beyond the maximum are left out, and do not change the others', () => {
  const list = Array.from({ length: 300 }, (_, index) => ({
    index,
    id: `c${index}`,
    function: { name: 'f' },
  }))
  expect(calls(list, piece('{"x":1}', { index: 299 }))).toEqual(Array(256).fill(['f', '{}']))
})

test('arguments that are nested too deeply are refused', () => {
  const deep = JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`)
  expect(new ToolCallReader(new ToolCallIds()).read(piece(deep, { id: 'a' }, 'f'), false)).toBeNull()
})

describe('an id', () => {
  const history = [
    {
      role: 'assistant' as const,
      content: '',
      tool_calls: [{ id: 'call_0', type: 'function' as const, function: { name: 'f', arguments: '{}' } }],
    },
  ]

  test('is the provider’s if it is neutral and new in the conversation', () => {
    expect(new ToolCallIds(history).next('call_1')).toBe('call_1')
  })

  test.each(['call_0', null, 'acme-tool-7'])('is made otherwise: %s', (upstream) => {
    expect(new ToolCallIds(history).next(upstream)).toMatch(/^call_[0-9a-f]{24}$/)
  })

  test('is another for each call that has none', () => {
    const ids = new ToolCallIds()
    expect(ids.next(null)).not.toBe(new ToolCallIds().next(null))
    expect(ids.next('call_1')).not.toBe(ids.next('call_1'))
  })
})
