import { startHaproxy } from './haproxy.ts'
import {
  expectNone,
  FEW_SLOTS,
  ms,
  perSecond,
  putLoadOn,
  type ScaleBench,
  type Table,
} from './scale-bench.ts'

const COUNTS = [1, 2, 4]
const MEASURED = { durationMs: 6_000, warmUpMs: 2_000 }

/** Throughput of 1, 2 and 4 API instances behind haproxy, each with few calls at a time. */
export async function measureApiInstances(bench: ScaleBench): Promise<Table> {
  const title = 'API instances behind haproxy'
  await bench.start('dispatch')
  const instances = [await bench.start('api')]
  const first = await startHaproxy(instances, { callsMax: FEW_SLOTS, log: bench.log }).catch(
    (error: Error) => error,
  )
  if (first instanceof Error) return { title, rows: [], notes: [`skipped: no haproxy: ${first.message}`] }
  await first.stop()
  const rows = [['instances', 'calls/s', 'of proportional', 'p99 ms']]
  let one = 0
  for (const count of COUNTS) {
    while (instances.length < count) instances.push(await bench.start('api'))
    const balancer = await startHaproxy(instances, { callsMax: FEW_SLOTS, log: bench.log })
    try {
      const load = { kind: 'callers', callers: 2 * FEW_SLOTS * count } as const
      const result = await putLoadOn(bench, balancer.url, 'usual', { ...MEASURED, load })
      expectNone(bench, `${count} instances`, result)
      const rate = perSecond(result)
      if (count === 1) one = rate
      const share = `${((100 * rate) / (one * count)).toFixed(0)} %`
      rows.push([String(count), rate.toFixed(1), share, ms(result.latency.p99Ms)])
    } finally {
      await balancer.stop()
    }
  }
  return {
    title,
    rows,
    notes: [`${FEW_SLOTS} calls at a time each, a provider of 300 ms, one worker of 400 slots`],
  }
}
