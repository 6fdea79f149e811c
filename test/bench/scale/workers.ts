import {
  CALLS_PER_SECOND,
  expectNone,
  FEW_SLOTS,
  fewSlots,
  ms,
  perSecond,
  putLoadOn,
  type ScaleBench,
  type Table,
} from './scale-bench.ts'

const COUNTS = [1, 2, 4, 8]
/** So many more callers than slots that no slot waits for its next call. */
const CALLERS_PER_SLOT = 2
const MEASURED = { durationMs: 6_000, warmUpMs: 2_000 }

/** Throughput of 1, 2, 4 and 8 dispatch workers. */
export async function measureWorkers(bench: ScaleBench): Promise<Table> {
  const api = await bench.start('api')
  const rows = [['workers', 'calls/s', 'of proportional', 'p50 ms', 'p99 ms']]
  let running = 0
  let one = 0
  for (const count of COUNTS) {
    for (; running < count; running++) await bench.start('dispatch', fewSlots)
    const callers = CALLERS_PER_SLOT * FEW_SLOTS * count
    const result = await putLoadOn(bench, api.url, 'usual', {
      ...MEASURED,
      load: { kind: 'callers', callers },
    })
    expectNone(bench, `${count} workers`, result)
    const rate = perSecond(result)
    if (count === 1) one = rate
    const share = `${((100 * rate) / (one * count)).toFixed(0)} %`
    rows.push([String(count), rate.toFixed(1), share, ms(result.latency.p50Ms), ms(result.latency.p99Ms)])
  }
  const notes = [
    `a provider of 300 ms, ${FEW_SLOTS} slots a worker: ${CALLS_PER_SECOND.toFixed(0)} calls/s each without any cost`,
  ]
  return { title: 'dispatch workers', rows, notes }
}
