import { describe, expect, test } from 'vitest'
import type { AttemptView, SettledTimeline } from '../../src/core/api/calls.ts'
import { timelineOf } from '../../web/lib/calls/call-timeline.ts'

const ADMITTED = '2027-01-31T12:00:00.000Z'
const at = (milliseconds: number) => new Date(Date.parse(ADMITTED) + milliseconds).toISOString()

const attempt = (changes: Partial<AttemptView>): AttemptView => ({
  offer: 'alpha/one',
  outcome: 'ok',
  http_status: 200,
  provider_message: null,
  started_at: at(20),
  first_token_ms: 80,
  duration_ms: 500,
  rescued: false,
  provider_key_id: null,
  ...changes,
})

const settled = (changes: Partial<SettledTimeline>): SettledTimeline =>
  ({
    admitted_at: ADMITTED,
    queued_ms: 20,
    duration_ms: 520,
    settlement_lag_ms: 30,
    attempts: [attempt({})],
    ...changes,
  }) as SettledTimeline

describe('the timeline of a call', () => {
  test('ends for its owner with the call: neither settlement nor the name of a provider, but every wait', () => {
    const { offer: _, ...second } = attempt({ started_at: at(400), duration_ms: 100 })
    const { offer: _first, ...first } = attempt({ outcome: 'connect', duration_ms: 100 })
    const { settlement_lag_ms: _lag, ...call } = settled({ duration_ms: 700 })
    const { spans, totalMs } = timelineOf({ ...call, attempts: [first, second] })
    expect(spans.map(({ name }) => name)).toEqual([
      'Queued',
      'Attempt 1',
      'Waiting to retry',
      'Attempt 2',
      'No attempt recorded: waiting until the call was ended',
    ])
    expect(totalMs).toBe(700)
  })

  test('has the queue, each attempt and the settlement, at their times since the admission', () => {
    const failed = attempt({
      outcome: 'server-error',
      http_status: 503,
      first_token_ms: null,
      duration_ms: 100,
    })
    const second = attempt({ offer: 'beta/two', started_at: at(130), duration_ms: 390, rescued: true })
    const { spans, totalMs } = timelineOf(settled({ attempts: [failed, second] }))
    expect(spans.map(({ kind, startMs, endMs }) => [kind, startMs, endMs])).toEqual([
      ['queue', 0, 20],
      ['attempt', 20, 120],
      ['attempt', 130, 520],
      ['settlement', 520, 550],
    ])
    expect(spans[1]).toMatchObject({
      isFailed: true,
      outcome: 'server error, HTTP 503',
      firstTokenMs: null,
    })
    expect(spans[2]).toMatchObject({
      isFailed: false,
      name: 'Attempt 2: beta/two',
      outcome: 'ok, HTTP 200, rescued the completion',
      firstTokenMs: 210,
    })
    expect(totalMs).toBe(550)
  })

  test('says what happened where no attempt was under way', () => {
    const broken = attempt({ outcome: 'silent', duration_ms: 440 })
    const late = attempt({ started_at: at(2_000), duration_ms: 100 })
    const named = (changes: Partial<SettledTimeline>) =>
      timelineOf(settled({ duration_ms: 4_240, ...changes })).spans.filter(({ kind }) => kind === 'gap')
    expect(named({ status: 'interrupted', attempts: [broken] })).toMatchObject([
      { startMs: 460, endMs: 4_240, name: expect.stringContaining('the worker of the call was lost') },
    ])
    expect(named({ status: 'completed', attempts: [broken, late] })).toMatchObject([
      { startMs: 460, endMs: 2_000, name: expect.stringContaining('Waiting to retry') },
      { startMs: 2_100, endMs: 4_240, name: expect.stringContaining('until the call was ended') },
    ])
    expect(named({ duration_ms: 520 })).toEqual([])
  })

  test('of a call that no worker took waited to its end', () => {
    const { spans } = timelineOf(settled({ queued_ms: null, duration_ms: 15_000, attempts: [] }))
    expect(spans[0]).toMatchObject({ kind: 'queue', endMs: 15_000, isFailed: true })
    expect(spans).toHaveLength(2)
  })

  test('says what the provider said of its failure', () => {
    const refused = attempt({ outcome: 'refused', http_status: 401, provider_message: 'Wrong key' })
    const { spans } = timelineOf(settled({ attempts: [refused] }))
    expect(spans[1]?.outcome).toBe('refused, HTTP 401: “Wrong key”')
  })

  test('says no status of a provider that gave none', () => {
    const { spans } = timelineOf(
      settled({ attempts: [attempt({ outcome: 'unreachable', http_status: null })] }),
    )
    expect(spans[1]?.outcome).toBe('unreachable')
  })

  test('of a call that took no time is a millisecond wide', () => {
    const { totalMs } = timelineOf(
      settled({ queued_ms: 0, duration_ms: 0, settlement_lag_ms: 0, attempts: [] }),
    )
    expect(totalMs).toBe(1)
  })
})
