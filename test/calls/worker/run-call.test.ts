import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { FinishResult, FinishStep } from '../../../src/calls/worker/finish-calls.ts'
import { type CallRunnerDependencies, runCall } from '../../../src/calls/worker/run-call.ts'
import { RunningCalls } from '../../../src/calls/worker/running-calls.ts'
import { Interrupted } from '../../../src/platform/process/interruptible.ts'
import { playCall } from '../../helpers/played-chain.ts'

const BODY = JSON.stringify({ kind: 'chat', messages: [{ role: 'user', content: 'Hello' }], parameters: {} })

/** Runs a call that is answered whole, while its worker stops; returns what it was settled as. */
async function settledWhileStopping(refusal: FinishResult) {
  const { outcome, envelope } = await playCall({
    stream: false,
    routes: [{ plays: [{ says: ['an answer'] }] }],
  })
  expect(outcome.status).toBe('completed')
  const calls = new RunningCalls()
  const finished: FinishStep[] = []
  const deps = {
    calls,
    leases: { isHeld: async () => true, reclaim: async () => true },
    publisher: { certain: async (channel: string) => calls.abortChannel(channel, 0), send: () => undefined },
    chain: async () => {
      calls.abortAll('shutdown')
      return outcome
    },
    catalog: () => ({ offers: new Map() }),
    countCall: () => undefined,
    finish: async (ended: FinishStep) => {
      if (ended.needsSubscriber) return refusal
      finished.push(ended)
      return 'finished'
    },
    logger: pino({ level: 'silent' }),
    clock: () => envelope.admittedAt,
  } as unknown as CallRunnerDependencies
  const job = { envelope: { ...envelope, idempotencyRecord: null, replyChannel: 'api' }, sealedBody: null }
  const lease = { job, generation: 1, number: 1, stalls: 0, renewedAt: 0, epoch: '', state: 'held' as const }
  expect(await runCall(lease, deps, BODY)).toBe('none')
  return finished.map(({ record: { status, chargePico } }) => ({ status, chargePico }))
}

test.each([
  ['that nobody was there to hear', 'no-subscriber'],
  ['whose caller was told a failure', { code: 'overloaded', deliveredChars: 0 }],
] as const)('an answer %s costs nothing, also of a worker that stops', async (_which, refusal) => {
  expect(await settledWhileStopping(refusal)).toEqual([{ status: 'failed', chargePico: '0' }])
})

/**
 * Runs a call that stalled so often; of its client, what it received. Returns what it was settled as, and the alarms.
 * Converting its request is interrupted where `isInterrupted`.
 */
async function afterStalls(stalls: number, received: string | null, isInterrupted = false) {
  const { outcome, envelope } = await playCall({
    stream: false,
    routes: [{ plays: [{ says: ['an answer'] }] }],
  })
  const calls = new RunningCalls()
  const finished: FinishStep[] = []
  const alarms: unknown[] = []
  let runs = 0
  const delivered = received === null ? null : { text: received, candidate: 0, finished: false }
  const deps = {
    calls,
    leases: { isHeld: async () => true },
    publisher: {
      certain: async () => undefined,
      send: () => undefined,
      ask: () => undefined,
    },
    chain: async () => {
      runs += 1
      if (isInterrupted) throw new Interrupted()
      return outcome
    },
    catalog: () => ({ offers: new Map() }),
    countCall: () => undefined,
    finish: async (ended: FinishStep) => {
      finished.push(ended)
      return 'finished'
    },
    logger: {
      error: (fields: { alarm?: string; subject?: string }) => alarms.push([fields.alarm, fields.subject]),
    },
    clock: () => envelope.admittedAt,
  } as unknown as CallRunnerDependencies
  const job = { envelope: { ...envelope, idempotencyRecord: null, replyChannel: 'api' }, sealedBody: null }
  const lease = { job, generation: 9, number: 9, stalls, renewedAt: 0, epoch: '', state: 'held' as const }
  const running = runCall(lease, deps, BODY)
  calls.control({ kind: 'delivered', callId: envelope.id, generation: 9, delivered })
  expect(await running).toBe('none')
  const [{ record }] = finished as [FinishStep]
  return { runs, status: record.status, code: record.errorCode, charge: record.chargePico, alarms, envelope }
}

test('a call that stopped two workers before anything was received ends with an alarm, and is not run', async () => {
  const { envelope, ...ended } = await afterStalls(2, null)
  expect(ended).toEqual({
    runs: 0,
    status: 'failed',
    code: 'internal_error',
    charge: '0',
    alarms: [['call-stops-workers', envelope.accountId]],
  })
})

test('a call whose conversion was interrupted ends with an alarm, and costs no second worker', async () => {
  expect(await afterStalls(1, null, true)).toMatchObject({
    runs: 1,
    status: 'failed',
    charge: '0',
    alarms: [['call-stops-workers', expect.any(String)]],
  })
})

test('a call whose worker was lost once runs again, however often it was handed back', async () => {
  expect(await afterStalls(1, null)).toMatchObject({ runs: 1, status: 'completed', alarms: [] })
})
