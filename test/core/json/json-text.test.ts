import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import {
  isNestedDeeperThan,
  type JsonLimits,
  scanJson,
  stringifyExactly,
  withoutLoneSurrogates,
} from '../../../src/core/json/json-text.ts'
import { promptTokensBound } from '../../../src/core/text-tokens/prompt-tokens.ts'
import { threadTasks } from '../../../src/platform/process/thread-tasks.ts'

const LIMITS = { depth: 300, values: 100_000 }

function parsed(json: string) {
  const outcome = threadTasks.parseJson({ bytes: Buffer.from(json), limits: LIMITS })
  if (outcome.kind !== 'value') throw new Error(outcome.kind)
  return { value: outcome.value as Record<string, unknown>, exact: outcome.exact }
}

/** The text in which `tools` goes on, of a body that holds this one. */
function forwarded(tools: string): string {
  const { value, exact } = parsed(
    `{"messages":[{"tools":["no"]}],\n "tools" :${tools} ,"response_format":{}}`,
  )
  return stringifyExactly({ tools: value.tools }, exact).toString().slice('{"tools":'.length, -1)
}

const number = fc.oneof(
  fc.bigInt().map(String),
  fc.tuple(fc.integer(), fc.nat(), fc.integer({ min: -400, max: 400 })).map(([a, b, e]) => `${a}.${b}e${e}`),
)
const scalar = fc.oneof(
  number,
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
)
const { object: written } = fc.letrec<{ object: string; value: string }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalar, tie('object')),
  object: fc
    .uniqueArray(fc.tuple(fc.oneof(fc.nat({ max: 99 }).map(String), fc.string()), tie('value')), {
      selector: ([name]) => name,
    })
    .map((members) => members.filter(([name]) => name !== '__proto__'))
    .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
}))

describe('a field that is kept exactly', () => {
  test('an exact field is forwarded as written, with its numbers and the order of its names', () => {
    fc.assert(
      fc.property(written, (object) => {
        expect(forwarded(object)).toBe(object)
      }),
    )
  })

  test.each([
    '[{"maximum":9223372036854775807}]',
    '[{"default":1.0,"multipleOf":0.10,"minimum":-0}]',
    '[{"maximum":1e400,"minimum":-1E+2}]',
    '[{"properties":{"10":{},"2":{},"a":{}}}]',
  ])('an exact field is forwarded as written: %s', (tools) => {
    expect(forwarded(tools)).toBe(tools)
  })

  test('loses whitespace and escapes that mean nothing', () => {
    expect(forwarded(String.raw`[ 1.0 , {"\u0041é\/\"" :	"a b: \n"}${'\n'}]`)).toBe(
      String.raw`[1.0,{"Aé/\"":"a b: \n"}]`,
    )
  })

  test('is not carried where parsing loses nothing of it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat({ max: 2 }), (tools, indent) => {
        const value = { tools, response_format: { tools } }
        expect(parsed(JSON.stringify(value, null, indent)).exact).toBeUndefined()
      }),
    )
  })

  test.each([
    ['a name that occurs twice', '[{"a":1.0,"a":2.0}]', '[{"a":2}]'],
    ['the same name, escaped', String.raw`[{"a":1.0,"\u0061":2.0}]`, '[{"a":2}]'],
    ['`__proto__`', '[{"__proto__":{"a":1.0},"b":1.0}]', '[{"b":1}]'],
    ['an escaped `__proto__`', String.raw`[{"\u005f_proto__":{"a":1.0},"b":1.0}]`, '[{"b":1}]'],
  ])('is what was checked where the text says more: %s', (_, tools, checked) => {
    expect(forwarded(tools)).toBe(checked)
  })

  test('is the last of its name, however that is written', () => {
    const { exact } = parsed(String.raw`{"tools":[1.0],"x":[{"tools":3.0}],"\u0074ools":[2.0]}`)
    expect(exact).toEqual({ tools: '[2.0]' })
  })

  test('is in the bound of the prompt and in the limit of its size', () => {
    const bound = (zeros: number) => {
      const { value, exact } = parsed(
        `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"parameters":{"maximum":1.${'0'.repeat(zeros)}}}}]}`,
      )
      const { messages, parameters, exactJson } = parseChatRequest(value, exact).content
      return promptTokensBound(messages, parameters, exactJson)
    }
    expect(bound(30_000) - bound(1)).toBeGreaterThan(10_000)
    expect(() => bound(1024 * 1024)).toThrow('1048576 characters')
  })

  test('a number or a name of the messages makes no schema exact', () => {
    expect(parsed('{"x":1.0,"messages":[{"1":1.0}],"tools":[{"a":0.5,"b":-3}]}').exact).toBeUndefined()
  })

  test('a body with a byte order mark is read', () => {
    expect(parsed('\ufeff{"tools":[1.0]}')).toEqual({ value: { tools: [1] }, exact: { tools: '[1.0]' } })
  })

  test('is not looked for in what is nested beyond measure', () => {
    const deep = `${'['.repeat(290)}1.0${']'.repeat(290)}`
    expect(parsed(`{"tools":${deep}}`).exact).toBeUndefined()
  })
})

const scan = (json: string, limits: Partial<JsonLimits>) =>
  scanJson(Buffer.from(json), {
    depth: Number.POSITIVE_INFINITY,
    values: Number.POSITIVE_INFINITY,
    ...limits,
  })

describe('a scan of JSON', () => {
  test('finds the nesting that its value has', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat({ max: 7 }), (value, depth) => {
        const isTooDeep = scan(JSON.stringify(value), { depth }) === 'too-deep'
        expect(isTooDeep).toBe(isNestedDeeperThan(value, depth))
      }),
    )
  })

  test('counts names, entries, arrays and objects', () => {
    const json = '{"a":[1,2,3],"b":{}}'
    expect(scan(json, { values: 8 })).toBe('ok')
    expect(scan(json, { values: 7 })).toBe('too-many-values')
    expect(scan('7', { values: 0 })).toBe('ok')
  })

  test('counts nothing in strings, whatever is escaped there', () => {
    expect(scan(String.raw`["[[[[\"[[[\\", "\\\"{{{{"]`, { depth: 1 })).toBe('ok')
    expect(scan(String.raw`["\\", [[]]]`, { depth: 2 })).toBe('too-deep')
    const text = JSON.stringify([`${'"'.repeat(3_000)}\\${','.repeat(3_000)}é漢"`, []])
    expect(scan(text, { values: 3 })).toBe('ok')
    expect(scan(text, { values: 2 })).toBe('too-many-values')
  })

  test('reads strings of any content to their end', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('"', '\\', 'a', 'é', ',', '[', 'x'.repeat(300)) }),
        (text) => {
          const json = JSON.stringify([text, []])
          expect(scan(json, { values: 3 })).toBe('ok')
          expect(scan(json, { values: 2 })).toBe('too-many-values')
        },
      ),
    )
  })

  test('ends with the bytes where a string does not', () => {
    for (const json of ['"', '"\\', '"\\"', `"${'\\"'.repeat(200)}`, '"'.repeat(9)]) {
      expect(scan(json, { depth: 0 })).toBe('ok')
    }
  })
})

describe('nesting', () => {
  test('is exact at its limit', () => {
    expect(isNestedDeeperThan({ a: [{}] }, 3)).toBe(false)
    expect(isNestedDeeperThan({ a: [{}] }, 2)).toBe(true)
    expect(isNestedDeeperThan('text', 0)).toBe(false)
  })

  test('of a value beyond any stack is found without overflowing it', () => {
    const json = '['.repeat(200_000) + ']'.repeat(200_000)
    expect(isNestedDeeperThan(JSON.parse(json), 256)).toBe(true)
  })
})

test('half of a surrogate pair is replaced in JSON text, and everything else stays', () => {
  const half = { prompt: 'broken \ud83d emoji \ude00', whole: '😀', path: 'C:\\udata\\\ud83d\n' }
  const sent = withoutLoneSurrogates(JSON.stringify(half))
  expect(JSON.parse(sent)).toEqual({
    prompt: 'broken \ufffd emoji \ufffd',
    whole: '😀',
    path: 'C:\\udata\\\ufffd\n',
  })
  expect(sent).not.toMatch(/\\ud83d/)
  const escaped = String.raw`{"a":"\uD83D\uDE00","b":"\\ud83d","c":"\uD83D"}`
  expect(withoutLoneSurrogates(escaped)).toBe(escaped.replace(/\\uD83D"}$/, '\ufffd"}'))
})
