import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import type { CallOutbox } from '../../../src/calls/worker/call-outbox.ts'
import { type ClaimedCall, Leases } from '../../../src/calls/worker/leases.ts'
import { RunningCalls } from '../../../src/calls/worker/running-calls.ts'
import type { CallJob } from '../../../src/core/calls/call-job.ts'
import type { CallId } from '../../../src/core/kernel/ids.ts'
import { claimedOf, jobOf } from '../../helpers/call-shapes.ts'
import { stubOf } from '../../helpers/stub-of.ts'
import { ModelQueue } from '../../simulation/model-queue.ts'
import { SeededRandom } from '../../simulation/seeded-random.ts'

const CALL = 'chatcmpl_1' as CallId
const JOB = jobOf({ id: CALL })
const LOCK_MS = 30_000

let nowMs: number
let queue: ModelQueue<CallJob>
let calls: RunningCalls
let leases: Leases

/** The queue as it is at an earlier time. */
const waiting = () => {
  queue.flush()
  queue.add(CALL, JOB, 0, 'call')
}
const claim = (token: string): number => queue.claim(token, LOCK_MS)!.attemptsStarted

const claimedNow = (number: number) =>
  claimedOf(JOB, { generation: number, number, renewedAt: nowMs, epoch: 'epoch' })

/** The call is claimed by this worker, and runs. */
function begin(): ClaimedCall {
  waiting()
  const outbox = stubOf<CallOutbox>({ callId: CALL, generation: 1, keptBytes: 1 })
  const call = claimedNow(claim('ours'))
  calls.add(call, outbox)
  leases.add(call)
  return call
}
const isRunning = () => [...leases.running()].length === 1

beforeEach(() => {
  nowMs = 1_000_000
  queue = new ModelQueue(() => nowMs, new SeededRandom(1))
  calls = new RunningCalls()
  leases = new Leases({
    loseCall: (callId) => calls.abort(callId, 'lease-lost'),
    epoch: { current: () => 'epoch', check: async () => 'epoch' },
    lockMs: LOCK_MS,
    logger: pino({ level: 'silent' }),
    clock: () => nowMs,
    extend: async (ids) => queue.extend(ids, ['ours'], LOCK_MS),
    reclaim: async (id, number) => queue.reclaim(id, 'ours', number, LOCK_MS),
    requeue: async (job) => {
      queue.add(job.envelope.id, job, LOCK_MS, 'revived')
      return queue.state(job.envelope.id) === 'delayed'
    },
    extendRequeued: async (id) => queue.state(id) === 'delayed',
    dropRequeued: async (id) => queue.withdraw(id, true),
  })
})

describe('a Redis that lost its last moments', () => {
  test('the worker learns of a claim that Redis lost, and no other worker can claim the call then', async () => {
    const lease = begin()
    waiting()
    await leases.renew()
    expect(isRunning()).toBe(true)
    expect(queue.jobs.get(CALL)).toMatchObject({ state: 'active', token: 'ours', attemptsStarted: 1 })
    expect(queue.claim('theirs', LOCK_MS)).toBeNull()
    expect(await leases.isHeld(lease)).toBe(true)
  })

  test('gives a call to this same worker again, where it runs on', () => {
    const lease = begin()
    waiting()
    expect(leases.adopt(claimedNow(claim('ours')))).toBe(true)
    expect(lease).toMatchObject({ generation: 1, number: 1 })
  })

  test('has the last word where another worker has claimed the call', async () => {
    const lease = begin()
    waiting()
    claim('theirs')
    expect(await leases.reclaim(lease)).toBe(false)
    expect(isRunning()).toBe(false)
  })

  test('gets the job of a call back whose admission it forgot', async () => {
    const lease = begin()
    queue.flush()
    await leases.renew()
    expect(isRunning()).toBe(true)
    expect(lease.state).toBe('requeued')
    expect(queue.jobs.get(CALL)).toMatchObject({ name: 'revived', data: { claims: 1 } })
  })
})

test('a call without a job is finished, where its lock had time to lapse', async () => {
  begin()
  queue.flush()
  nowMs += LOCK_MS
  await leases.renew()
  expect(isRunning()).toBe(false)
  expect(queue.jobs.size).toBe(0)
})

test('a lease is kept when its own worker claimed the call again without knowing it yet', async () => {
  const lease = begin()
  Object.assign(queue.jobs.get(CALL)!, { state: 'waiting', token: null })
  const number = claim('ours')
  expect(number).toBe(2)
  expect(await leases.reclaim(lease)).toBe(true)
  expect(lease.number).toBe(2)
  expect(leases.adopt(claimedNow(number))).toBe(true)
  expect(lease).toMatchObject({ generation: 1, number: 2 })
})
