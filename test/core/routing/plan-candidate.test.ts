import { expect, test } from 'vitest'
import type { ImageContent } from '../../../src/core/calls/kinds/image.ts'
import type { TranscriptionContent } from '../../../src/core/calls/kinds/transcription.ts'
import { parsePreferences } from '../../../src/core/calls/provider-preferences.ts'
import type { CatalogSnapshot, Model } from '../../../src/core/catalog/catalog.ts'
import { parseRate } from '../../../src/core/kernel/money.ts'
import { leastCallCost, toCandidate } from '../../../src/core/routing/plan-candidate.ts'
import { planRefusal } from '../../../src/core/routing/plan-refusal.ts'
import { PROMPT_TOKENS_LEAST, promptTokensBound } from '../../../src/core/text-tokens/prompt-tokens.ts'
import { needsOf } from '../../helpers/plan-of.ts'
import { offerAt } from '../../helpers/scripted-provider.ts'

const snapshot = (...rates: Array<[prompt: string, completion: string]>) =>
  ({
    models: new Map(
      rates.map(([prompt, completion], index) => [
        `model-${index}`,
        {
          rate: { prompt: parseRate(prompt), completion: parseRate(completion) },
          kind: 'chat',
          offers: [{ shared: true }],
        } as unknown as Model,
      ]),
    ),
  }) as unknown as CatalogSnapshot

test('is the shortest prompt and one token of the cheapest model that has a price', () => {
  const catalog = snapshot(['3', '15'], ['0', '0'], ['0.1', '0.4'])
  expect(leastCallCost(catalog)).toBe(BigInt(PROMPT_TOKENS_LEAST) * 100_000n + 400_000n)
})

test('is zero where nothing has a price', () => {
  expect(leastCallCost(snapshot(['0', '0']))).toBe(0n)
  expect(leastCallCost(snapshot())).toBe(0n)
})

test('takes the shortest prompt to be what an empty message is bounded by', () => {
  expect(promptTokensBound([{ role: 'user', content: '' }], {})).toBe(PROMPT_TOKENS_LEAST)
})

const IMAGE: ImageContent = { kind: 'image', prompt: 'A fox', count: 1, sources: [] }
const TRANSCRIPTION: TranscriptionContent = {
  kind: 'transcription',
  translates: false,
  file: { ref: 'a/b/c', bytes: 1, mediaType: 'audio/wav', fileName: 'file.wav' },
  secondsBound: 1,
  granularities: ['segment'],
  format: 'json',
}
test.each<[ImageContent | TranscriptionContent, string[], string | null]>([
  [IMAGE, [], null],
  [{ ...IMAGE, background: 'auto' }, [], null],
  [{ ...IMAGE, background: 'transparent' }, ['style'], 'background'],
  [{ ...IMAGE, background: 'transparent', style: 'vivid' }, ['background'], 'background'],
  [{ ...IMAGE, style: 'vivid' }, ['style'], null],
  [{ ...IMAGE, size: '512x512' }, ['style'], 'size'],
  [TRANSCRIPTION, [], null],
  [{ ...TRANSCRIPTION, granularities: ['word'] }, [], 'timestamp_granularities'],
  [{ ...TRANSCRIPTION, translates: true }, ['timestamp_granularities'], 'model'],
  [{ ...TRANSCRIPTION, translates: true }, ['translations'], null],
])(
  'a call that asks %j of a model that knows %j is refused for %s',
  (content, supportedParameters, param) => {
    const model = { supportedParameters, imageUnits: { '/1024x1024': 1 } } as unknown as Model
    const needs = needsOf({ content })
    expect(needs.result!.isDoneBy!(model)).toBe(param === null)
    if (param !== null)
      expect(planRefusal(new Set(['result']), needs)).toMatchObject({
        code: 'unsupported_shape',
        details: { param },
      })
  },
)

test.each([
  [3, 10, 10],
  [25, 10, 25],
  [3, undefined, 3],
])('a recording of %i seconds, %s charged at least, is held for as %i', (secondsBound, leastUnits, bound) => {
  const rate = { prompt: parseRate('0'), completion: parseRate('0'), units: parseRate('100') }
  const model = {
    rate,
    unit: 'second',
    contextLength: 448,
    maxOutputTokens: 448,
    ...(leastUnits && { leastUnits }),
  } as unknown as Model
  const candidate = toCandidate(
    { name: 'whisper', model },
    { offer: offerAt('https://api.example/v1'), providerKeyId: null },
    { completionLimit: 0, preferences: parsePreferences({}) },
    needsOf({ content: { ...TRANSCRIPTION, secondsBound } }),
    { bound: 0, atLeast: 0, text: 0, window: 448 },
    { defaultCompletionLimit: 100, byokFeePercent: 5 },
  )
  expect(candidate?.units).toEqual({ kind: 'second', bound, ...(leastUnits && { least: leastUnits }) })
})
