import { setTimeout as delay } from 'node:timers/promises'
import { startLoadRunner } from '../load/load-runner.ts'
import type { LoadResult } from '../load/load-scenario.ts'
import {
  expectNone,
  FEW_SLOTS,
  fewSlots,
  ms,
  perSecond,
  putLoadOn,
  type ScaleBench,
  type Table,
} from './scale-bench.ts'

const QUIET_CALLERS = 4
const FLOOD_CALLERS = 20 * FEW_SLOTS
const MEASURED = { durationMs: 8_000, warmUpMs: 2_000 }
const FLOOD_BEFORE_MS = 1_000

/** The latency of one account's calls alone, and beside another account that has twenty callers for each slot. */
export async function measureFlood(bench: ScaleBench): Promise<Table> {
  const settings = { ...fewSlots, ACCOUNT_CONCURRENT_CALLS: '100000', QUEUE_WAIT_MS: '60000' }
  const api = await bench.start('api', settings)
  for (let count = 0; count < 2; count++) await bench.start('dispatch', settings)
  const headers = bench.target.gateway.quietHeaders
  const quiet = () =>
    putLoadOn(bench, api.url, 'usual', {
      ...MEASURED,
      headers,
      load: { kind: 'callers', callers: QUIET_CALLERS },
    })
  const alone = await quiet()
  const second = startLoadRunner()
  let beside: LoadResult
  let flood: LoadResult
  try {
    const load = { kind: 'callers', callers: FLOOD_CALLERS } as const
    const durationMs = MEASURED.durationMs + MEASURED.warmUpMs + FLOOD_BEFORE_MS
    const flooding = putLoadOn({ ...bench, load: second }, api.url, 'usual', {
      durationMs,
      warmUpMs: 0,
      load,
    })
    await delay(FLOOD_BEFORE_MS)
    beside = await quiet()
    flood = await flooding
  } finally {
    await second.stop()
  }
  for (const [what, result] of Object.entries({ alone, beside }))
    expectNone(bench, `quiet account ${what}`, result)
  const row = (name: string, result: LoadResult) => [
    ...[name, perSecond(result).toFixed(1), ms(result.latency.p50Ms), ms(result.latency.p99Ms)],
    String(result.failures.count),
  ]
  return {
    title: "one account's flood",
    rows: [
      ['', 'calls/s', 'p50 ms', 'p99 ms', 'failed'],
      row('quiet account alone', alone),
      row('quiet account beside the flood', beside),
      row('the flood', flood),
    ],
    notes: [`${2 * FEW_SLOTS} slots, ${QUIET_CALLERS} quiet callers, ${FLOOD_CALLERS} callers of the flood`],
  }
}
