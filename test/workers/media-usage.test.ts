import { expect, test } from 'vitest'
import { usageOf } from '../../src/calls/worker/attempts/call-usage.ts'
import { costOf } from '../../src/core/billing/pricing.ts'
import { NOTHING_PRODUCED } from '../../src/core/calls/attempt-outcome.ts'
import type { Usage } from '../../src/core/calls/usage.ts'
import { readRates } from '../../src/core/catalog/token-rates.ts'
import { candidateOf, chatOf, envelopeOf } from '../helpers/call-shapes.ts'

const CANDIDATE = candidateOf({
  rate: { prompt: '1', completion: '2', promptAudio: '4' },
  promptTokensBound: 200,
  media: { bound: { audio: 100 }, likely: { audio: 60 } },
})

const COUNTS = { text: async () => 3, prompt: async () => 90 }

async function charged(reported: Partial<Usage> | null, candidate = CANDIDATE) {
  const usage = reported && { promptTokens: 80, completionTokens: 3, ...reported }
  const answer = { text: 'one two three', finalUsage: usage, produced: NOTHING_PRODUCED }
  const call = { envelope: envelopeOf({ holdPico: '100000' }), content: chatOf(), served: candidate }
  const { used, faults } = await usageOf(answer, call, COUNTS)
  return { usage: used.usage, fault: faults.prompt, cost: costOf(used.usage, readRates(candidate.rate)) }
}

test('audio that a provider reports is charged at its own rate', async () => {
  const { usage, fault, cost } = await charged({ audioTokens: 70 })
  expect({ usage, fault }).toEqual({
    usage: { promptTokens: 80, completionTokens: 3, audioTokens: 70 },
    fault: null,
  })
  expect(cost).toBe(10n + 70n * 4n + 3n * 2n)
})

test('an impossible split of tokens raises an alarm, and our own count is charged', async () => {
  expect(await charged({ audioTokens: 81 })).toMatchObject({
    usage: { promptTokens: 90, audioTokens: 60 },
    fault: 'absurd',
  })
})

test('audio without reported usage is charged by its estimate', async () => {
  expect(await charged(null)).toMatchObject({ usage: { promptTokens: 90, audioTokens: 60 }, fault: null })
})

test('audio without a rate of its own is prompt tokens, whatever is reported of it', async () => {
  const plain = { ...CANDIDATE, rate: { prompt: '1', completion: '2' } }
  expect(await charged({ audioTokens: 9_999 }, plain)).toEqual({
    usage: { promptTokens: 80, completionTokens: 3 },
    fault: null,
    cost: 86n,
  })
})

test('a report with both figures impossibly high is the fault of its provider, and not of our bound', async () => {
  expect(await charged({ promptTokens: 5_000, completionTokens: 3 })).toMatchObject({ fault: 'beyond-bound' })
  expect(await charged({ promptTokens: 5_000, completionTokens: 9_999 })).toMatchObject({ fault: 'absurd' })
  expect(await charged({ promptTokens: 5_000, completionTokens: 0 })).toMatchObject({ fault: 'beyond-bound' })
})
