import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { FinishResult, FinishStep } from '../../../src/calls/worker/finish-calls.ts'
import type { FramePublisher } from '../../../src/calls/worker/frame-publisher.ts'
import { type CallRunnerDependencies, runCall } from '../../../src/calls/worker/run-call.ts'
import { RunningCalls } from '../../../src/calls/worker/running-calls.ts'
import type { CallEnvelope } from '../../../src/core/calls/call-job.ts'
import { Interrupted } from '../../../src/platform/process/interruptible.ts'
import { chatOf, claimedOf } from '../../helpers/call-shapes.ts'
import { snapshot } from '../../helpers/planned-catalog.ts'
import { playCall } from '../../helpers/played-chain.ts'
import { stubOf } from '../../helpers/stub-of.ts'

const claimed = (envelope: CallEnvelope, number: number, stalls = 0) =>
  claimedOf({ envelope, sealedBody: null }, { content: chatOf(), generation: number, number, stalls })

/** Runs a call that is answered whole, while its worker stops; returns what it was settled as. */
async function settledWhileStopping(refusal: FinishResult) {
  const { outcome, envelope } = await playCall({
    stream: false,
    routes: [{ plays: [{ says: ['an answer'] }] }],
  })
  expect(outcome.status).toBe('completed')
  const calls = new RunningCalls()
  const finished: FinishStep[] = []
  const deps = stubOf<CallRunnerDependencies>({
    calls,
    leases: { isHeld: async () => true, reclaim: async () => true },
    publisher: stubOf<FramePublisher>({
      certain: async (channel) => calls.abortChannel(channel, 0),
      send: () => undefined,
    }),
    chain: async () => {
      calls.abortAll('shutdown')
      return outcome
    },
    catalog: () => snapshot([]),
    countCall: () => undefined,
    finish: async (ended) => {
      if (ended.needsSubscriber) return refusal
      finished.push(ended)
      return 'finished'
    },
    logger: pino({ level: 'silent' }),
    clock: () => envelope.admittedAt,
  })
  expect(await runCall(claimed(envelope, 1), deps)).toBe('none')
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
  const noteAlarm = ({ alarm, subject }: { alarm: string; subject: string }) => alarms.push([alarm, subject])
  let runs = 0
  const delivered = received === null ? null : { text: received, candidate: 0, finished: false }
  const deps = stubOf<CallRunnerDependencies>({
    calls,
    leases: { isHeld: async () => true, reclaim: async () => true },
    publisher: stubOf<FramePublisher>({
      certain: async () => undefined,
      send: () => undefined,
    }),
    chain: async () => {
      runs += 1
      if (isInterrupted) throw new Interrupted()
      return outcome
    },
    catalog: () => snapshot([]),
    countCall: () => undefined,
    finish: async (ended) => {
      finished.push(ended)
      return 'finished'
    },
    logger: pino({ level: 'error' }, { write: (line: string) => void noteAlarm(JSON.parse(line)) }),
    clock: () => envelope.admittedAt,
  })
  const running = runCall(claimed(envelope, 9, stalls), deps)
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
