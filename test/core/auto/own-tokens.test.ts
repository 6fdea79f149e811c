import { expect, test } from 'vitest'
import { expectedTokens } from '../../../src/core/auto/output-tokens.ts'
import { ownTokens } from '../../../src/core/auto/own-tokens.ts'
import type { Model } from '../../../src/core/catalog/catalog.ts'

const MODELS = [{ id: 'acme/large', vendor: 'acme', reasoning: false } as Model]
const USUAL = expectedTokens(MODELS)('chat')[0]!

const chat = (tokens: number) => [{ model: 'acme/large', kind: 'chat' as const, tokens }]
const used = (tokens: number, inUse = {}, models = MODELS) =>
  ownTokens(chat(tokens), inUse, models)['acme/large']?.chat

test('measured tokens are used within four times the estimate, up and down', () => {
  expect(used(400)).toBe(400)
  expect(used(1_000_000)).toBe(USUAL * 4)
  expect(used(1)).toBe(Math.round(USUAL / 4))
})

test('the bounds are those of the estimate without measured tokens, so that no figure drifts', () => {
  const measured = [{ ...MODELS[0]!, completionTokens: { chat: USUAL * 4 } }]
  expect(used(1_000_000, {}, measured)).toBe(USUAL * 4)
})

test('a figure in use stays until the measured one differs by a quarter', () => {
  const inUse = { 'acme/large': { chat: 400 } }
  expect(used(480, inUse)).toBe(400)
  expect(used(330, inUse)).toBe(400)
  expect(used(510, inUse)).toBe(510)
})

test('a figure that is not measured any more, or of a model that is gone, is not used', () => {
  expect(ownTokens([], { 'acme/large': { chat: 400 } }, MODELS)).toEqual({})
  expect(ownTokens(chat(400), {}, [])).toEqual({})
})
