import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { DripWatch } from '../../../../src/calls/worker/attempts/drip-watch.ts'
import { attemptFailure } from '../../../../src/core/failover/attempt-failure.ts'
import {
  type Play,
  type Played,
  type PlayedCall,
  playCall,
  type Said,
} from '../../../helpers/played-chain.ts'

// Fake timers do not reach this module.
vi.mock('node:timers/promises', async () => ({
  setTimeout: (await import('../../../simulation/simulated-time.ts')).simulatedDelay,
}))
beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'Date'] }),
)
afterEach(() => void vi.useRealTimers())

/** The call's answer, with time that runs as fast as it is waited for. */
async function soon(call: PlayedCall): Promise<Played> {
  let played: Played | undefined
  const playing = playCall(call).then((done) => {
    played = done
  })
  for (let seconds = 0; played === undefined && seconds < 600; seconds++)
    await vi.advanceTimersByTimeAsync(1_000)
  await playing
  return played!
}

const every = (waitMs: number, times: number, said: Said): Said[] =>
  Array.from({ length: times }, () => [said, { waitMs }]).flat()

const healthy: Play = { says: ['all of it'], usage: { promptTokens: 9, completionTokens: 3 } }

describe('an answer of which the client received nothing yet', () => {
  test('is left for a healthy candidate when it only drips', async () => {
    const drip: Play = { says: every(5_000, 40, 'x ') }
    const played = await soon({ stream: false, routes: [{ plays: [drip] }, { plays: [healthy] }] })
    expect(played.outcome).toMatchObject({ status: 'completed', message: { content: 'all of it' } })
    expect(played.attempts).toEqual(['m stalled', 'm ok'])
    expect(played.outcome.attempts[0]!.durationMs).toBe(30_000)
  })

  test('is waited for where no other candidate is healthy', async () => {
    const drip: Play = { says: every(5_000, 12, 'x '), usage: { promptTokens: 9, completionTokens: 12 } }
    const down = { kind: 'down', untilMs: Number.MAX_SAFE_INTEGER } as const
    const played = await soon({
      stream: false,
      routes: [{ plays: [drip] }, { plays: [healthy], health: down }],
    })
    expect(played.attempts).toEqual(['m ok'])
  })

  test.each([
    ['many small pieces', every(2_500, 20, 'x ')],
    ['few long ones', every(10_000, 5, 'forty characters are about ten tokens ..')],
  ])('is no drip when enough comes, be it in %s', async (_, says) => {
    const steady: Play = { says, usage: { promptTokens: 9, completionTokens: 20 } }
    const played = await soon({ stream: false, routes: [{ plays: [steady] }, { plays: [healthy] }] })
    expect(played.attempts).toEqual(['m ok'])
  })

  test('is left when a reasoning model thinks by drops before its stream shows anything', async () => {
    const thinks: Play = { says: every(8_000, 40, { thinks: 4 }) }
    const candidate = { reasoning: true }
    const played = await soon({
      routes: [
        { plays: [thinks], candidate },
        { plays: [healthy], candidate },
      ],
    })
    expect(played).toMatchObject({ text: 'all of it', attempts: ['m stalled', 'm ok'] })
  })
})

test('a window that a process judges late, since it stood still, is no drip', async () => {
  const stop = vi.fn()
  const watch = new DripWatch(() => undefined, { tokensMin: 8, leaves: async () => true }, stop)
  const clock = vi.spyOn(performance, 'now').mockReturnValue(1)
  onTestFinished(() => clock.mockRestore())
  watch.push(['text', 'x '])

  clock.mockReturnValue(65_000)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(stop).not.toHaveBeenCalled()

  clock.mockReturnValue(95_000)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(stop).toHaveBeenCalledOnce()
})

test('a stream that has shown text is not left for its slowness', async () => {
  const drip: Play = { says: every(5_000, 12, 'x '), usage: { promptTokens: 9, completionTokens: 12 } }
  const candidate = { reasoning: true }
  const played = await soon({
    routes: [
      { plays: [drip], candidate },
      { plays: [healthy], candidate },
    ],
  })
  expect(played.attempts).toEqual(['m ok'])
})

test('waits for rate limits total at most ten seconds, then the response has Retry-After', async () => {
  const limited = attemptFailure('rate-limited', '', { httpStatus: 429, retryAfterMs: 6_000 })
  const { outcome, attempts } = await soon({ routes: [{ plays: [{ end: limited }] }] })
  expect(attempts).toEqual(['m rate-limited', 'm rate-limited'])
  expect(outcome).toMatchObject({ error: { code: 'no_provider_available', retryAfterSeconds: 6 } })
  const [first, second] = outcome.attempts
  expect(second!.startedAt - first!.startedAt).toBe(6_000)
})
