import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { activeFault, parseBehaviour } from '../../../tools/simulated-providers/behaviour.ts'

test('every example of the documented table is understood', () => {
  const page = readFileSync(new URL('../../../docs/simulated-providers.md', import.meta.url), 'utf8')
  const examples = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1]!)
  expect(examples.length).toBeGreaterThan(40)
  for (const example of examples) expect([example, parseBehaviour(example)]).not.toEqual([example, null])
})

test('segments combine, and a mistyped one makes the whole name unknown', () => {
  expect(parseBehaviour('sim-words-20.rate-50.gzip')).toMatchObject({
    words: 20,
    tokensPerSecond: 50,
    gzip: true,
  })
  expect(parseBehaviour('sim-words-20.cut-aftre-3')).toBeNull()
  expect(parseBehaviour('')).toBeNull()
})

test('a stale connection is one that has carried a request', () => {
  const behaviour = parseBehaviour('stale.words-3')!
  expect(activeFault(behaviour, 'alpha', 1)).toBeNull()
  expect(activeFault(behaviour, 'alpha', 2, true)).toEqual({ kind: 'reset' })
})

test('a fault tied to a provider strikes only there', () => {
  const behaviour = parseBehaviour('sim-on-alpha-cut-after-5')!
  expect(activeFault(behaviour, 'alpha', 1)).toEqual({ kind: 'cut-after', tokens: 5 })
  expect(activeFault(behaviour, 'beta', 1)).toBeNull()
})
