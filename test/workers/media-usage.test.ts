import { expect, test } from 'vitest'
import { usageOf } from '../../src/calls/worker/attempts/call-usage.ts'
import { costOf } from '../../src/core/billing/pricing.ts'
import type { Candidate } from '../../src/core/calls/call-job.ts'
import { readRates } from '../../src/core/catalog/token-rates.ts'

const CANDIDATE: Candidate = {
  offerId: 'alpha/one',
  modelId: 'test/one',
  requestedModel: 'test/one',
  rate: { prompt: '1', completion: '2', promptAudio: '4' },
  rateVersion: 'v1',
  contextLength: 10_000,
  promptTokensBound: 200,
  media: { bound: { audio: 100 }, likely: { audio: 60 } },
  completionLimit: 50,
  reasoning: false,
}

const COUNTS = { text: async () => 3, prompt: async () => 90 }

async function charged(reported: object | null, candidate = CANDIDATE) {
  const usage = reported && { promptTokens: 80, completionTokens: 3, ...reported }
  const produced = { usage: null, thinkingBytes: 0, reasoningTokens: 0 }
  const body = { kind: 'chat', messages: [], parameters: {} }
  const answer = { text: 'one two three', finalUsage: usage, produced } as unknown as Parameters<
    typeof usageOf
  >[0]
  const call = { envelope: { holdPico: '100000' }, body, served: candidate } as unknown as Parameters<
    typeof usageOf
  >[1]
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
