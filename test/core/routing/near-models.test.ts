import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { nearModelIds } from '../../../src/core/routing/near-models.ts'
import { builtCatalog } from '../../helpers/built-catalog.ts'
import { model, offer, provider, snapshot } from '../../helpers/planned-catalog.ts'

const catalog = builtCatalog([
  JSON.parse(readFileSync(new URL('../../../src/catalog/data/builtin.json', import.meta.url), 'utf8')),
])

describe('an unknown id', () => {
  test.each([
    ['GPT-4o', 'gpt-4o'],
    ['gpt4o', 'gpt-4o'],
    ['gpt-4o-minni', 'gpt-4o-mini'],
    ['claude-3.5-sonnet', 'anthropic/claude-3.5-sonnet'],
    ['claude-3-5-sonnet-20241022', 'anthropic/claude-3.5-sonnet-20241022'],
    ['antropic/claude-3.5-haiku', 'anthropic/claude-3.5-haiku'],
  ])('%s leads to %s', (asked, meant) => {
    expect(nearModelIds(asked, catalog)[0]).toBe(meant)
  })

  test.each(['', '/', 'x', 'no such thing', '__proto__', '漢字', 'a/'.repeat(10_000)])(
    'leads nowhere when it is like none: %s',
    (asked) => expect(nearModelIds(asked, catalog)).toEqual([]),
  )

  test('leads to three at the most, of equal ones to those that can be called', () => {
    const a = provider('a')
    const models = ['z', 'y', 'x', 'w'].map((vendor) =>
      model(`${vendor}/large`, [offer(a, 1, { shared: vendor === 'y' })]),
    )
    expect(nearModelIds('larges', snapshot(models))).toEqual(['y/large', 'w/large', 'x/large'])
  })
})
