import { describe, expect, test } from 'vitest'
import { type Play, type Played, playCall } from '../../helpers/played-chain.ts'

const LEAVES = { leaves: true } as const
const WAYS = [
  ['streamed', true],
  ['given whole', false],
] as const

const answeredBy = (plays: Play[][], stream: boolean): Promise<Played> =>
  playCall({
    stream,
    routes: plays.map((own, index) => ({ plays: own, candidate: { modelId: `m${index}` } })),
  })

describe.each(WAYS)('a client that hangs up on an answer that is %s', (_name, stream) => {
  test('pays the counted prompt once its provider has answered with a status', async () => {
    const { outcome, envelope } = await answeredBy([[{ says: [LEAVES] }]], stream)
    expect(outcome).toMatchObject({
      status: 'cancelled',
      served: envelope.candidates[0],
      usage: { promptTokens: expect.any(Number), completionTokens: 0 },
      usageSource: 'counted',
    })
    const { promptTokens } = (outcome as { usage: { promptTokens: number } }).usage
    expect(promptTokens).toBeGreaterThan(0)
    expect(promptTokens).toBeLessThanOrEqual(envelope.candidates[0]!.promptTokensBound)
    expect(outcome.attempts[0]?.spent).toBeUndefined()
  })

  test('pays what was produced as well, thoughts included', async () => {
    const { outcome } = await answeredBy([[{ says: ['a few words', { thinks: 160 }, LEAVES] }]], stream)
    expect(outcome).toMatchObject({ status: 'cancelled', usage: { completionTokens: expect.any(Number) } })
    expect((outcome as { usage: { completionTokens: number } }).usage.completionTokens).toBeGreaterThan(40)
  })

  test.each([
    ['before its provider has answered with a status', [[{ says: [LEAVES], httpStatus: null }]]],
    ['while the provider refuses it', [[{ says: [LEAVES], httpStatus: 503 }]]],
    [
      'while another provider is asked than the one that failed after its status',
      [[{ end: 'silent' as const }], [{ says: [LEAVES], httpStatus: null }]],
    ],
  ])('pays nothing %s', async (_when, plays) => {
    const { outcome } = await answeredBy(plays, stream)
    expect(outcome).toMatchObject({ status: 'cancelled', served: null, usage: { promptTokens: 0 } })
  })
})

describe('what a provider bills and no client pays', () => {
  test.each([
    ['an attempt that its client left before a status', { says: [LEAVES], httpStatus: null }, true],
    ['an attempt that its client left after a refusal', { says: [LEAVES], httpStatus: 500 }, false],
    ['a provider that was silent', { end: 'silent' as const }, true],
    ['an answer with nothing in it', { says: [] }, true],
    ['a server error', { end: 'server-error' as const }, false],
    ['a connection that failed', { end: 'connect' as const, httpStatus: null }, false],
  ])('is noted without a first token: %s', async (_name, play, isNoted) => {
    const { outcome } = await playCall({
      routes: [{ plays: [play], offer: { cost: { prompt: 3n, completion: 4n } as never } }],
      attemptsPerCall: 1,
    })
    const [attempt] = outcome.attempts
    expect(attempt?.firstTokenMs).toBeNull()
    if (!isNoted) return expect(attempt?.spent).toBeUndefined()
    expect(attempt?.spent?.promptTokens).toBeGreaterThan(0)
    expect(attempt?.spent?.costPico).toBe(String(3 * attempt!.spent!.promptTokens))
  })
})
