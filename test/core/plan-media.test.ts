import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseChatRequest } from '../../src/core/calls/chat-request.ts'
import type { Model, Offer } from '../../src/core/catalog/catalog.ts'
import { ApiError } from '../../src/core/kernel/errors.ts'
import { mediaRules } from '../../src/core/media/media-rules.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { pngUrl } from '../helpers/content-parts.ts'
import { planOf } from '../helpers/plan-of.ts'
import { model, offer, provider, snapshot } from '../helpers/planned-catalog.ts'

const ALL = ['text', 'image', 'file', 'audio', 'video']
const at = (id: string, vendor: string, more: Partial<Model> = {}, offerMore: Partial<Offer> = {}): Model =>
  model(id, [offer(provider('acme'), 1, offerMore, id)], {
    inputModalities: ALL,
    media: mediaRules(id, vendor),
    contextLength: 128_000,
    ...more,
  })

const image = (width: number, height: number) => ({
  type: 'image_url',
  image_url: { url: pngUrl(width, height) },
})
const pdf = (pages: number) => ({
  type: 'file',
  file: {
    file_data: `data:application/pdf;base64,${Buffer.from('/Type /Page '.repeat(pages)).toString('base64')}`,
  },
})
const video = { type: 'video_url', video_url: { url: 'https://videos.example/v.mp4' } }

function plan(models: Model[], content: unknown, more: Record<string, unknown> = {}) {
  const request = parseChatRequest({
    models: models.map(({ id }) => id),
    max_tokens: 10,
    messages: [{ role: 'user', content }],
    ...more,
  })
  const { messages, parameters } = request.content
  const text = promptTokensBound(messages, parameters)
  const options = { defaultCompletionLimit: 100, byokFeePercent: 5, maxCandidates: 8, random: () => 0.5 }
  return { text, ...planOf(request, text, snapshot(models), options) }
}

function refusal(...asked: Parameters<typeof plan>): ApiError {
  try {
    plan(...asked)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('the request was planned')
}

describe('a plan for media', () => {
  test('bounds the prompt by each candidate, and holds for the dearest', () => {
    const cheap = at('gpt-4o', 'openai')
    const dear = at('gpt-4o-mini', 'openai')
    const { candidates, worstCase, text } = plan([cheap, dear], [image(1_024, 1_024)])
    expect(candidates.map(({ promptTokensBound: bound }) => bound)).toEqual([
      text + 765 + 12,
      text + 25_501 + 12,
    ])
    expect(candidates[1]!.media).toEqual({ bound: { image: 25_513 }, likely: { image: 25_501 } })
    expect(worstCase).toBe(BigInt(text + 25_513) * 1_000_000n + 10n * 2_000_000n)
  })

  test("bounds text and media together by the provider's window", () => {
    const [candidate] = plan([at('x/y', 'x')], [pdf(1), pdf(1), image(10, 10)]).candidates
    expect(candidate!.promptTokensBound).toBe(128_000)
    const sold = at(
      'x/y',
      'x',
      { contextLength: 200_000 },
      {
        contextLength: 200_000,
        coveredTokens: 200_000,
        providerContextLength: 1_000_000,
      },
    )
    expect(plan([sold], [pdf(1)]).candidates[0]!.promptTokensBound).toBe(1_000_000)
  })

  test('keeps a document that is likely to be long from an offer that long prompts make a loss', () => {
    const guarded = at(
      'x/y',
      'x',
      { contextLength: 200_000 },
      {
        contextLength: 200_000,
        coveredTokens: 200_000,
        providerContextLength: 1_000_000,
      },
    )
    expect(plan([guarded], [pdf(20)]).candidates).toHaveLength(1)
    expect(refusal([guarded], [pdf(500)]).code).toBe('context_length_exceeded')
    const open = at('x/z', 'x', { contextLength: 1_000_000 })
    expect(plan([guarded, open], [pdf(500)]).candidates.map(({ modelId }) => modelId)).toEqual(['x/z'])
  })

  test("leaves out what its media could make dearer than the client's cap for the call", () => {
    const models = [at('gpt-4o-mini', 'openai'), at('gpt-4o', 'openai')]
    const capped = plan(models, [image(1_024, 1_024)], { provider: { max_price: { request: '0.01' } } })
    expect(capped.candidates.map(({ modelId }) => modelId)).toEqual(['gpt-4o'])
    expect(capped.worstCase).toBeLessThanOrEqual(10_000_000_000n)
  })

  test('takes a video by address only where its figure is stated, also for auto', () => {
    const unknown = at('x/y', 'x')
    const stated = at('x/z', 'x', { media: mediaRules('x/z', 'x', { video_tokens: 5_000 }) })
    const refused = refusal([unknown], [video])
    expect(refused).toMatchObject({ code: 'unsupported_shape', details: { param: 'messages' } })
    expect(refused.message).toContain('videos by address')
    const { candidates, text } = plan([unknown, stated], [video])
    expect(candidates).toMatchObject([{ modelId: 'x/z', promptTokensBound: text + 5_012 }])
    const auto = plan([unknown, stated], [video], { models: undefined, model: 'auto' })
    expect(auto.candidates.map(({ modelId }) => modelId)).toEqual(['x/z'])
  })

  test("is never bounded below what its parts' makers publish, whatever a prompt holds", () => {
    const part = fc.oneof(
      fc.record({ text: fc.string({ maxLength: 500 }), type: fc.constant('text') }),
      fc
        .tuple(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 1, max: 5_000 }))
        .map(([width, height]) => image(width, height)),
      fc.constant(pdf(3)),
    )
    const window = 60_000
    const mini = at('gpt-4o-mini', 'openai', { contextLength: window })
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 12 }), (parts) => {
        const { candidates, text, worstCase } = plan([mini], parts)
        const images = parts.filter(({ type }) => type === 'image_url').length
        const atLeast = parts.some(({ type }) => type === 'file')
          ? window
          : Math.min(window, text + images * (2_833 + 5_667))
        const { promptTokensBound: bound } = candidates[0]!
        expect(bound).toBeGreaterThanOrEqual(atLeast)
        expect(bound).toBeLessThanOrEqual(window)
        expect(worstCase).toBeGreaterThanOrEqual(BigInt(bound) * 1_000_000n)
      }),
      { numRuns: 300 },
    )
  })
})
