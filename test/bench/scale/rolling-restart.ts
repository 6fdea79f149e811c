import { setTimeout as delay } from 'node:timers/promises'
import { startHaproxy } from './haproxy.ts'
import { expectNone, ms, putLoadOn, type ScaleBench, type Table } from './scale-bench.ts'

const CALLS = 40
/** Less than the 8 s that a call takes. */
const settings = { SHUTDOWN_GRACE_MS: '2000', SHUTDOWN_DELAY_MS: '2500' }
const LONG = { durationMs: 30_000, warmUpMs: 0 }

/**
 * Every process is replaced while calls run that take longer than the grace period. A worker hands over what its client has
 * received nothing of, so calls without a stream must be whole. A stream that has begun ends with an error, and an API
 * instance ends all of its own so; the balancer sends new ones to the other.
 */
export async function measureRollingRestart(bench: ScaleBench): Promise<Table> {
  const workers = [await bench.start('dispatch', settings), await bench.start('dispatch', settings)]
  const instances = [await bench.start('api', settings), await bench.start('api', settings)]
  let settlement = await bench.start('settlement', settings)
  const rows = [['restarted', 'calls', 'whole', 'ended with an error', 'longest ms']]
  const callsBeside = async (
    what: string,
    { url, stream }: { url: string; stream: boolean },
    restart: () => Promise<void>,
  ) => {
    const load = { kind: 'callers', callers: CALLS, startOverMs: 1_000, callsEach: 1 } as const
    const [result] = await Promise.all([
      putLoadOn({ ...bench, scale: 1 }, url, 'long', { ...LONG, stream, load }),
      delay(2_000).then(restart),
    ])
    const { calls, failures, latency } = result
    rows.push([what, String(CALLS), String(calls), String(failures.count), ms(latency.p99Ms)])
    return result
  }
  const replaceWorkers = async () => {
    for (const worker of workers.splice(0)) {
      workers.push(await bench.start('dispatch', settings))
      await worker.stop()
    }
  }
  const replaceSettlement = async () => {
    await settlement.stop()
    settlement = await bench.start('settlement', settings)
  }
  const { url } = instances[0]!
  expectNone(
    bench,
    'calls that workers hand over',
    await callsBeside('both workers, one by one: no streams', { url, stream: false }, replaceWorkers),
  )
  await callsBeside('… streams', { url, stream: true }, replaceWorkers)
  expectNone(
    bench,
    'streams beside a restart of settlement',
    await callsBeside('settlement: streams', { url, stream: true }, replaceSettlement),
  )
  const notes = ['calls of 8 s, a grace period of 2 s']
  const balancer = await startHaproxy(instances, { log: bench.log }).catch((error: Error) => error)
  if (balancer instanceof Error)
    return { title: 'rolling restart', rows, notes: [...notes, `API instances skipped: ${balancer.message}`] }
  try {
    const stream = { url: balancer.url, stream: true }
    await callsBeside('one of two API instances: streams', stream, () => instances[0]!.stop())
  } finally {
    await balancer.stop()
  }
  return { title: 'rolling restart', rows, notes }
}
