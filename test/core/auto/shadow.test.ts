import { describe, expect, test } from 'vitest'
import { autoLadder } from '../../../src/core/auto/auto-ladder.ts'
import {
  checkedAnswer,
  judgeMessages,
  mayBeShadowed,
  readVerdict,
  shadowModels,
} from '../../../src/core/auto/shadow.ts'
import { TIERS } from '../../../src/core/auto/tiers.ts'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { tieredCatalog } from '../../helpers/tiered-catalog.ts'

const catalog = tieredCatalog()

const request = (more: Record<string, unknown> = {}) =>
  parseChatRequest({ messages: [{ role: 'user', content: 'hello' }], ...more })
const KEY = { byokKeys: [] }

describe('a shadow', () => {
  test('is for plain text of clients who left the choice of providers to the gateway', () => {
    expect(mayBeShadowed(request(), KEY)).toBe(true)
    expect(mayBeShadowed(request({ provider: { sort: 'price' } }), KEY)).toBe(true)
    for (const provider of [
      { zdr: true },
      { data_collection: 'deny' },
      { only: ['a'] },
      { ignore: ['a'] },
      { order: ['a'] },
    ])
      expect(mayBeShadowed(request({ provider }), KEY), JSON.stringify(provider)).toBe(false)
    const tools = [{ type: 'function', function: { name: 'f' } }]
    expect(mayBeShadowed(request({ tools }), KEY)).toBe(false)
    expect(mayBeShadowed(request({ response_format: { type: 'json_object' } }), KEY)).toBe(false)
    const byokKeys = [{ id: 'k', providerId: 'p', allowFallback: true }]
    expect(mayBeShadowed(request(), { byokKeys })).toBe(false)
    expect(
      mayBeShadowed(request(), { ...KEY, allowList: { models: undefined, providers: new Set(['a']) } }),
    ).toBe(false)
  })

  test('is answered by the best value of the nearest tier, above or below, and judged by a third model', () => {
    const { models, tiers } = autoLadder(catalog.autoLadder)
    const tierOf = (id: string) => TIERS.indexOf(tiers.get(models.find((model) => model.id === id)!)!)
    const served = models.find((model) => tiers.get(model) === 'standard')!
    for (const [random, step] of [
      [0.2, 1],
      [0.8, -1],
    ] as const) {
      const found = shadowModels(request().content, served.id, catalog, () => random)!
      expect(tierOf(found.other.id) - tierOf(served.id)).toBe(step)
      expect([served.vendor, found.other.vendor]).not.toContain(found.judge!.vendor)
    }
    expect(shadowModels(request().content, 'no/model', catalog, Math.random)).toBeNull()
  })

  test('compares lettered options and numbers as they are', () => {
    expect(checkedAnswer('worded_options', '(C)')).toBe('C')
    expect(checkedAnswer('worded_options', 'A and B are wrong, so the answer is **c**.')).toBe('C')
    expect(checkedAnswer('numeric_options', 'Answer: D')).toBe('D')
    expect(checkedAnswer('worded_options', 'It depends.')).toBeNull()
    expect(checkedAnswer('formulas', '12 boxes of 100 make 1,200.0')).toBe('1200')
    expect(checkedAnswer('formulas', 'none')).toBeNull()
    for (const kind of ['code', 'chat', 'agentic', 'other'] as const)
      expect(checkedAnswer(kind, '7')).toBeNull()
  })

  test('is graded by the last verdict of its judge, and by none where the judge did not grade', () => {
    expect(readVerdict('As {"first": 1, "second": 2} shows: {"first": 7.5, "second" : 10}')).toEqual({
      first: 0.75,
      second: 1,
    })
    for (const text of ['The first is better.', '{"first": 11, "second": 2}', ''])
      expect(readVerdict(text)).toBeNull()
    const [system, user] = judgeMessages([{ role: 'user', content: 'hello' }], 'one', 'two')
    expect(system!.role).toBe('system')
    expect(String(user!.content).indexOf('one')).toBeLessThan(String(user!.content).indexOf('two'))
  })
})
