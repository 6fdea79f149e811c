import { describe, expect, test } from 'vitest'
import { promptFeatures } from '../../../src/core/auto/difficulty/prompt-features.ts'
import { SHIPPED_MODEL } from '../../../src/core/auto/difficulty/score-turns.ts'
import { taskKind } from '../../../src/core/auto/task-kind.ts'
import prompts from '../../fixtures/auto/prompt-kinds.json' with { type: 'json' }

const kindOf = (prompt: string) => taskKind(promptFeatures(prompt, SHIPPED_MODEL.rarity))

describe('the kind of a prompt', () => {
  test.each(Object.entries(prompts))('is what a careful reader gives it, of 24 in 25: %s', (_, kinds) => {
    const misread = Object.entries(kinds).flatMap(([kind, all]) =>
      all.flatMap((prompt) => (kindOf(prompt) === kind ? [] : [`${kind}, not ${kindOf(prompt)}: ${prompt}`])),
    )
    expect(misread.length, misread.join('\n')).toBeLessThanOrEqual(1)
  })

  test('is of the instruction, whatever the passage is about', () => {
    const passage =
      'The contract obliges the tenant to pay the rent of 800 euros on the first of the month. '.repeat(10)
    expect(kindOf(`Translate this text into French:\n\n${passage}`)).toBe('chat')
    expect(kindOf(`Extract the names of all parties as JSON.\n\n${passage}`)).toBe('extraction')
  })

  test('is code with a fence, and mathematics with notation, in any language', () => {
    expect(kindOf('Was tut das?\n```\nx = [1]\n```')).toBe('code')
    expect(kindOf('Что больше: $\\sqrt{2}$ или $3/2$?')).toBe('formulas')
  })
})
