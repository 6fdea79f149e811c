import { describe, expect, test } from 'vitest'
import { fittingWindow } from '../../../../src/calls/worker/attempts/fitting-window.ts'
import { NOTHING_PRODUCED } from '../../../../src/core/calls/attempt-outcome.ts'
import { attemptFailure } from '../../../../src/core/failover/attempt-failure.ts'
import { promptTokensBound } from '../../../../src/core/text-tokens/prompt-tokens.ts'
import { countPromptTokens } from '../../../../src/providers/count-tokens.ts'
import type { ProviderClient } from '../../../../src/providers/wire.ts'
import { candidateOf, chatOf } from '../../../helpers/call-shapes.ts'
import { offerAt } from '../../../helpers/scripted-provider.ts'

const WINDOW = 8_192
const TEXT = 'The points are set before the train arrives, and the signal shows it. '
const offer = offerAt('http://h/v1')

/**
 * Asks a provider with a window whose tokenizer makes so many times the tokens that ours counts.
 * @returns the limits that it was sent, and what became of the last
 */
async function ask({ repeats, times = 1, wanted = 4_096, continued = 0 }: Asked) {
  const body = chatOf(TEXT.repeat(repeats))
  const tokens = Math.ceil((await countPromptTokens(body)) * times)
  const limits: number[] = []
  const strict: ProviderClient = {
    attempt: async ({ completionLimit }) => {
      limits.push(completionLimit)
      const facts = { httpStatus: 200, firstTokenAt: null, malformedEvents: 0, produced: NOTHING_PRODUCED }
      return tokens + continued + completionLimit > WINDOW
        ? { ...facts, kind: 'failed', failure: attemptFailure('context-length', '') }
        : { ...facts, kind: 'finished', reason: 'stop', usage: null }
    },
  }
  const candidate = candidateOf({
    contextLength: WINDOW,
    promptTokensBound: Math.min(WINDOW, promptTokensBound(body.messages, {})),
    completionLimit: wanted,
  })
  const client = fittingWindow(strict, { candidate, offer }, body)
  const outcome = await client.attempt(
    {
      accountId: 'acct_1',
      offer,
      content: body,
      completionLimit: wanted - continued,
      limits: { firstTokenMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
      signal: new AbortController().signal,
    },
    () => undefined,
  )
  return { tokens, bound: candidate.promptTokensBound, limits, end: outcome.kind }
}
interface Asked {
  repeats: number
  times?: number
  wanted?: number
  continued?: number
}

describe('a prompt that fits the window', () => {
  test('with room for the limit is sent with it, and not counted', async () => {
    expect(await ask({ repeats: 1 })).toMatchObject({ limits: [4_096], end: 'finished' })
  })

  test('leaves less than the limit: the limit is shortened to what is left, at once', async () => {
    const { tokens, limits, end } = await ask({ repeats: 290 })
    expect(tokens).toBeGreaterThan(4_096)
    expect(end).toBe('finished')
    expect(limits).toHaveLength(1)
    expect(limits[0]! + tokens).toBeGreaterThan(WINDOW * 0.9)
  })

  test.each([0.7, 1.05, 1.25, 1.39])(
    'is served also where its model makes %d times as many tokens',
    async (times) => {
      for (const repeats of [200, 300, 340]) {
        const { tokens, end, limits } = await ask({ repeats, times, wanted: WINDOW })
        expect(end).toBe('finished')
        expect(limits.length).toBeLessThanOrEqual(3)
        expect(limits.at(-1)! + tokens).toBeLessThanOrEqual(WINDOW)
      }
    },
  )

  test('is served where the limit had been cut to what its bound leaves, and the provider adds to the prompt', async () => {
    const { tokens, bound } = await ask({ repeats: 290 })
    const { end, limits } = await ask({ repeats: 290, times: (bound + 100) / tokens, wanted: WINDOW - bound })
    expect(end).toBe('finished')
    expect(limits.length).toBeGreaterThan(1)
  })

  test('is served when it fills the window but for a few tokens', async () => {
    const { tokens, end } = await ask({ repeats: 510 })
    expect(tokens).toBeGreaterThan(WINDOW - 600)
    expect(end).toBe('finished')
  })

  test('is sent with no more than the client’s own limit', async () => {
    expect((await ask({ repeats: 450, wanted: 5 })).limits).toEqual([5])
  })

  test('gets what is left beside the text that is continued', async () => {
    const { limits, tokens } = await ask({ repeats: 290, continued: 1_000 })
    expect(limits.at(-1)! + tokens + 1_000).toBeLessThanOrEqual(WINDOW)
  })
})

test('a prompt that is longer than the window is refused as such', async () => {
  const { limits, end } = await ask({ repeats: 700 })
  expect(end).toBe('failed')
  expect(limits).toEqual([16])
})
