import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { CatalogDocument } from '../../src/core/catalog/catalog-document.ts'

const DOCUMENT = JSON.parse(
  readFileSync(new URL('../../src/catalog/data/builtin.json', import.meta.url), 'utf8'),
) as Required<CatalogDocument>
const byId = new Map(DOCUMENT.models.map((model) => [model.id, model]))

describe('the built-in catalog', () => {
  // USD per million tokens as the makers publish them, and the context window.
  test.each([
    ['gpt-4o', '2.5', '10', 128_000],
    ['gpt-4o-mini', '0.15', '0.6', 128_000],
    ['gpt-4.1', '2', '8', 1_047_576],
    ['gpt-4.1-mini', '0.4', '1.6', 1_047_576],
    ['gpt-4.1-nano', '0.1', '0.4', 1_047_576],
    ['gpt-5', '1.25', '10', 400_000],
    ['gpt-5-mini', '0.25', '2', 400_000],
    ['gpt-5-nano', '0.05', '0.4', 400_000],
    ['gpt-5.1', '1.25', '10', 400_000],
    ['gpt-5.2', '1.75', '14', 400_000],
    ['gpt-5.6-luna', '0.2', '1.2', 1_050_000],
    ['gpt-6-luna', '0.1', '0.5', 1_050_000],
    ['gpt-6.1-terra', '1', '5', 1_050_000],
    ['gpt-6.1-sol', '2', '10', 1_050_000],
    ['gpt-4-turbo', '10', '30', 128_000],
    ['gpt-4', '30', '60', 8_192],
    ['gpt-3.5-turbo', '0.5', '1.5', 16_385],
    ['o1', '15', '60', 200_000],
    ['o3', '2', '8', 200_000],
    ['o3-mini', '1.1', '4.4', 200_000],
    ['o4-mini', '1.1', '4.4', 200_000],
    ['anthropic/claude-opus-4.1', '15', '75', 200_000],
    ['anthropic/claude-opus-4.5', '5', '25', 200_000],
    ['anthropic/claude-sonnet-4.6', '3', '15', 1_000_000],
    ['anthropic/claude-haiku-4.5', '1', '5', 200_000],
    ['anthropic/claude-haiku-5.5', '0.1', '0.5', 1_000_000],
    ['anthropic/claude-sonnet-5.5', '2', '10', 1_000_000],
    ['anthropic/claude-opus-5.5', '4', '20', 1_000_000],
    ['google/gemini-2.5-pro', '1.25', '10', 1_048_576],
    ['google/gemini-2.5-flash', '0.3', '2.5', 1_048_576],
    ['google/gemini-2.5-flash-lite', '0.1', '0.4', 1_048_576],
    ['google/gemini-3.8-flash', '0.75', '3.75', 1_048_576],
    ['mistralai/mistral-large-2512', '0.5', '1.5', 262_144],
    ['mistralai/codestral-2508', '0.3', '0.9', 256_000],
    ['mistralai/devstral-2512', '0.4', '2', 262_144],
    ['deepseek/deepseek-v3.2', '0.28', '0.4', 163_840],
    ['x-ai/grok-4.3', '1.25', '2.5', 1_000_000],
    ['x-ai/grok-4.7', '2', '6', 500_000],
    ['moonshotai/kimi-k2.5', '0.6', '3', 262_144],
    ['z-ai/glm-4.6', '0.6', '2.2', 204_800],
    ['cohere/command-r-plus-08-2024', '2.5', '10', 128_000],
    ['ai21/jamba-large-1.7', '2', '8', 256_000],
  ])('lists %s at %s and %s, with %i tokens', (id, prompt, completion, contextLength) => {
    const model = byId.get(id)
    expect(model?.list_price).toMatchObject({ prompt, completion })
    expect(model?.context_length).toBe(contextLength)
  })

  test.each([
    ['google/gemini-2.5-flash', '1'],
    ['google/gemini-2.5-flash-lite', '0.3'],
    ['google/gemini-2.5-pro', undefined],
    ['gpt-4o', undefined],
  ])('lists audio of %s at %s', (id, audio) => {
    expect(byId.get(id)?.list_price.prompt_audio).toBe(audio)
  })

  test.each([
    ['anthropic/claude-sonnet-4.5', '0.3', '3.75'],
    ['anthropic/claude-sonnet-5.5', '0.1', '2.5'],
    ['gpt-6-luna', '0.01', '0.125'],
    ['gpt-4.1', '0.5', undefined],
    ['google/gemini-2.5-flash', '0.03', undefined],
    ['gpt-3.5-turbo', undefined, undefined],
  ])('lists cache reads of %s at %s, and writes at %s', (id, read, write) => {
    const { cache_read, cache_write } = byId.get(id)!.list_price
    expect([cache_read, cache_write]).toEqual([read, write])
  })

  // In percent; none at models that are not sold so, or whose cached tokens cost as much as ever.
  test.each([
    ['o3', { flex: 50, priority: 175 }],
    ['o4-mini', { flex: 50 }],
    ['gpt-4.1', { priority: 175 }],
    ['gpt-4o', undefined],
    ['gpt-5-mini', { flex: 50, priority: 180 }],
    ['gpt-5.5', { flex: 50, priority: 250 }],
    ['gpt-6.1-terra', { flex: 50 }],
    ['google/gemini-2.5-pro', undefined],
    ['google/gemini-3.1-pro-preview', undefined],
    ['google/gemini-3.8-flash', { flex: 50 }],
  ])('sells the service tiers of %s at %j', (id, percents) => {
    const own = byId.get(id)!.offers.find(({ provider }) => /^(openai|google)$/.test(provider))
    expect(own?.tier_percent).toEqual(percents)
  })

  test('has more than 600 chat models of more than 50 makers, many open weights with many offers', () => {
    expect(DOCUMENT.models.length).toBeGreaterThan(600)
    expect(new Set(DOCUMENT.models.map(({ vendor }) => vendor)).size).toBeGreaterThan(50)
    const open = DOCUMENT.models.filter((model) => model.open_weights)
    expect(open.length).toBeGreaterThan(200)
    expect(open.filter(({ offers }) => offers.length >= 5).length).toBeGreaterThan(40)
  })

  test('names its sources and its day', () => {
    expect(DOCUMENT.source).toMatch(/pi-ai .* litellm .*genai-prices/)
    expect(DOCUMENT.dated).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  })

  test('the built-in catalog has no price of zero, no limit above a window and no stated cost', () => {
    for (const { id, list_price, context_length, max_output_tokens = 1, offers } of DOCUMENT.models) {
      expect(Number(list_price.prompt), id).toBeGreaterThan(0)
      expect(Number(list_price.completion), id).toBeGreaterThan(0)
      expect(max_output_tokens, id).toBeLessThanOrEqual(context_length)
      expect(
        offers.filter((offer) => offer.cost !== undefined),
        id,
      ).toEqual([])
    }
  })

  test('has no embeddings, speech, images, moderation or rerankers', () => {
    const others = DOCUMENT.models.filter(({ id }) =>
      /embed|whisper|tts|image|moderation|rerank|guard/.test(id),
    )
    expect(others).toEqual([])
  })
})
