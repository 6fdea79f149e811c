import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { UnsettledCall } from '../../../src/calls/worker/finish-calls.ts'
import { createLedgerLossCheck, createSettledCalls } from '../../../src/calls/worker/settled-calls.ts'
import { settlementOf } from '../../helpers/billing.ts'
import { fakeRedis } from '../../helpers/stub-of.ts'

const MINUTE_MS = 60_000
const settledCall = () => ({ record: settlementOf('acct_1'), hold: {} }) as UnsettledCall

test('keeps what was settled for three minutes, and the latest of it', () => {
  let nowMs = 0
  const settled = createSettledCalls({ max: 3, clock: () => nowMs })
  const calls = Array.from({ length: 5 }, settledCall)
  for (const call of calls) settled.add([call])
  nowMs = MINUTE_MS
  expect(settled.take()).toEqual(calls.slice(2))
  expect(settled.take()).toEqual([])
  settled.add([calls[0]!])
  nowMs += 2 * MINUTE_MS
  settled.add([calls[1]!])
  nowMs += 2 * MINUTE_MS
  expect(settled.take()).toEqual([calls[1]])
})

test('enqueues it again, and names it, each time that the ledger went back while this process ran', async () => {
  let losses: string | null = '4'
  const sent: UnsettledCall[] = []
  let resyncs = 0
  const logged: Array<Record<string, unknown>> = []
  const settled = createSettledCalls({ max: 10, clock: () => 0 })
  const check = createLedgerLossCheck({
    redis: fakeRedis({ get: async () => losses }),
    settled,
    outbox: { keepUnsent: (call) => void sent.push(call) },
    async resync() {
      resyncs += 1
    },
    logger: pino({ level: 'error' }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
  })
  const [one, other] = [settledCall(), settledCall()]
  settled.add([one])
  await check()
  // Redis lost its data: that is another loss.
  losses = null
  await check()
  expect(sent).toEqual([])
  losses = '1'
  await check()
  await check()
  expect({ sent, resyncs }).toEqual({ sent: [one], resyncs: 1 })
  expect(logged).toMatchObject([{ alarm: 'ledger-went-back', calls: 1, callIds: [one.record.id] }])
  settled.add([other])
  losses = '2'
  await check()
  expect(sent).toEqual([one, other])
})
