import { describe, expect, test } from 'vitest'
import { partsFault, type UsageLimits, withinHold } from '../../src/calls/worker/attempts/call-usage.ts'
import { pricingFeed } from '../../src/catalog/pricing-feed.ts'
import { costOf } from '../../src/core/billing/pricing.ts'
import type { ChatMessage, ChatRequest } from '../../src/core/calls/chat-request.ts'
import { parsePreferences } from '../../src/core/calls/provider-preferences.ts'
import type { CatalogSnapshot } from '../../src/core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../src/core/kernel/money.ts'
import { feeRate } from '../../src/core/routing/plan-candidate.ts'
import { promptBoundOf } from '../../src/core/text-tokens/prompt-tokens.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'
import { chatOf } from '../helpers/call-shapes.ts'
import { contentParts } from '../helpers/content-parts.ts'
import { planOf } from '../helpers/plan-of.ts'

const LIST = { prompt: '0.30', completion: '2.50', prompt_audio: '1.00' }

const catalogOf = (model: Record<string, unknown> = {}, offer: Record<string, unknown> = {}) =>
  builtCatalog([
    {
      replace: true,
      providers: [{ id: 'alpha', base_url: 'http://alpha.test/v1', api_key_env: 'ALPHA_KEY' }],
      models: [
        {
          id: 'test/one',
          vendor: 'test',
          context_length: 100_000,
          input_modalities: ['text', 'image', 'audio'],
          list_price: LIST,
          offers: [{ provider: 'alpha', upstream_model: 'one', ...offer }],
          ...model,
        },
      ],
    },
  ])

const modelOf = (catalog: CatalogSnapshot) => catalog.models.get('test/one')!

/** Half a second of silence, as uncompressed WAV. */
function wav(): string {
  const data = Buffer.alloc(8_000)
  const header = Buffer.alloc(44)
  header.write('RIFF')
  header.writeUInt32LE(36 + data.length, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(8_000, 24)
  header.writeUInt32LE(16_000, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(data.length, 40)
  return Buffer.concat([header, data]).toString('base64')
}

const audioMessage = (): ChatMessage => ({
  role: 'user',
  content: contentParts({ type: 'input_audio', input_audio: { data: wav(), format: 'wav' } }),
})
const textMessage: ChatMessage = { role: 'user', content: 'Hi' }

const requestOf = (message: ChatMessage, maxPrompt?: string): ChatRequest => ({
  models: ['test/one'],
  stream: false,
  completionLimit: 10,
  preferences: {
    ...parsePreferences({}),
    maxPrice: {
      prompt: maxPrompt === undefined ? undefined : picoUsdPerToken(BigInt(maxPrompt)),
      completion: undefined,
      request: undefined,
    },
  },
  content: chatOf([message]),
})

const OPTIONS: Parameters<typeof planOf>[3] = {
  defaultCompletionLimit: 100,
  byokKeys: [],
  byokFeePercent: 5,
  maxCandidates: 8,
  random: () => 0.5,
}
const plan = (message: ChatMessage, catalog: CatalogSnapshot, options = OPTIONS, maxPrompt?: string) =>
  planOf(requestOf(message, maxPrompt), 100, catalog, options)

describe('rates of audio and images', () => {
  test('follow the discount of the others, the fee its percentage, and make a version of their own', () => {
    const model = modelOf(catalogOf())
    expect(model.rate).toEqual({ prompt: 285_000n, completion: 2_375_000n, promptAudio: 950_000n })
    expect(feeRate(model.rate, 5)).toEqual({ prompt: 14_250n, completion: 118_750n, promptAudio: 47_500n })
    const plain = modelOf(catalogOf({ list_price: { prompt: '0.30', completion: '2.50' } }))
    expect(plain.rate).toEqual({ prompt: 285_000n, completion: 2_375_000n })
    expect(plain.rateVersion).not.toBe(model.rateVersion)
  })

  test("stay at the list price less the discount where the operator's rate leaves them out", () => {
    const model = modelOf(catalogOf({ rate: { prompt: '0.20', completion: '2.00' } }))
    expect(model.rate).toEqual({ prompt: 200_000n, completion: 2_000_000n, promptAudio: 950_000n })
  })

  test('are held to 5 % below the list price, or below that of the prompt where the list has none', () => {
    expect(() => catalogOf({ rate: { prompt: '0.20', completion: '2.00', prompt_audio: '0.99' } })).toThrow(
      'rate.prompt_audio',
    )
    expect(() => catalogOf({ rate: { prompt: '0.20', completion: '2.00', prompt_image: '0.29' } })).toThrow(
      'rate.prompt_image',
    )
  })

  test('stand in the pricing feed where a model has them, and only there', () => {
    const [entry] = pricingFeed(catalogOf(), new Map()).data
    expect(entry).toMatchObject({ prompt_audio: '0.95', list_prompt_audio: '1.00', discount: '0.05' })
    expect(entry).not.toHaveProperty('prompt_image')
  })

  test('charge audio at its rate and the rest of the prompt at the prompt rate', () => {
    const { rate } = modelOf(catalogOf())
    const usage = { promptTokens: 100, completionTokens: 10, audioTokens: 40 }
    expect(costOf(usage, rate)).toBe(60n * 285_000n + 40n * 950_000n + 10n * 2_375_000n)
    expect(costOf({ ...usage, audioTokens: 0, imageTokens: 40 }, rate)).toBe(
      100n * 285_000n + 10n * 2_375_000n,
    )
  })
})

const limitsOf = (
  promptTokensBound: number,
  audioTokensBound: number,
  imageTokensBound: number,
): UsageLimits => ({
  promptTokensBound,
  audioTokensBound,
  imageTokensBound,
  contextLength: 100_000,
  completionLimit: 10,
  hasMedia: audioTokensBound + imageTokensBound > 0,
  contentBytes: 10,
  mayReason: false,
})

describe('the hold', () => {
  test('takes the audio of a prompt at its own rate', () => {
    const { candidates, dearestPrompt } = plan(audioMessage(), catalogOf())
    const bound = promptBoundOf(candidates[0]!)
    expect(bound.audioTokens).toBeGreaterThan(0)
    expect(candidates[0]!.rate.promptAudio).toBe('950000')
    expect(dearestPrompt).toBe(
      BigInt(bound.promptTokens) * 285_000n + BigInt(bound.audioTokens) * (950_000n - 285_000n),
    )
  })
})

describe('what a provider reports of audio', () => {
  const usage = (audioTokens: number) => ({ promptTokens: 10, completionTokens: 1, audioTokens })

  test.each([
    ['stands where it can be', usage(5), limitsOf(100, 5, 0), null],
    ['cannot be where none was sent', usage(5), limitsOf(100, 0, 0), 'absurd'],
    ['cannot be more than the prompt', usage(11), limitsOf(100, 50, 0), 'absurd'],
    ['cannot be below zero', usage(-1), limitsOf(100, 50, 0), 'absurd'],
    ['may be beyond a bound that was too low', usage(6), limitsOf(100, 5, 0), 'beyond-bound'],
  ])('%s', (_, reported, limits, fault) => {
    expect(partsFault(reported, limits)).toBe(fault)
  })

  test('is of no account where audio is charged as the rest of the prompt', () => {
    const { audioTokensBound: _audio, imageTokensBound: _image, ...limits } = limitsOf(100, 0, 0)
    expect(partsFault(usage(5), limits)).toBeNull()
    expect(withinHold(usage(5), limits)).toEqual({ promptTokens: 10, completionTokens: 1 })
  })
})

describe('an offer whose audio costs more than it brings in', () => {
  const losing = () => catalogOf({}, { cost: { prompt: '0.20', completion: '2.00', prompt_audio: '0.96' } })

  test('takes prompts without audio only', () => {
    expect(plan(textMessage, losing()).candidates).toHaveLength(1)
    expect(() => plan(audioMessage(), losing())).toThrow()
  })

  test("takes them on the client's BYOK key", () => {
    const byokKeys = [{ id: 'pkey_1', providerId: 'alpha', allowFallback: false }]
    const { candidates } = plan(audioMessage(), losing(), { ...OPTIONS, byokKeys })
    expect(candidates.map(({ providerKeyId }) => providerKeyId)).toEqual(['pkey_1'])
  })

  test('is found by the price of long prompts, too', () => {
    const long = { above_tokens: 50_000, prompt: '0.30', completion: '2.50' }
    const covered = (prices: object) =>
      modelOf(catalogOf({}, { long_prompt: { ...long, ...prices } })).offers[0]!.coveredTokens
    expect(covered({})).toBeUndefined()
    expect(covered({ prompt_audio: '2.00' })).toBe(50_000)
  })
})

test('an offer that states no price of audio is taken to cost what the list says', () => {
  const { offers } = modelOf(catalogOf({}, { cost: { prompt: '0.20', completion: '2.00' } }))
  expect(offers[0]!.cost.promptAudio).toBe(900_000n)
})

test('max_price for prompts is compared with the rate of audio where the prompt has some', () => {
  const catalog = catalogOf()
  expect(plan(textMessage, catalog, OPTIONS, '300000').candidates).toHaveLength(1)
  expect(() => plan(audioMessage(), catalog, OPTIONS, '300000')).toThrow()
  expect(plan(audioMessage(), catalog, OPTIONS, '950000').candidates).toHaveLength(1)
})
