import { expectNone, fewSlots, ms, perSecond, putLoadOn, type ScaleBench, type Table } from './scale-bench.ts'

const ROUNDS = 3
const CALLERS = 30
const MEASURED = { durationMs: 30_000, warmUpMs: 1_000 }

/** Workers that are added and removed under load: no call may fail. */
export async function measureChurn(bench: ScaleBench): Promise<Table> {
  const api = await bench.start('api')
  const workers = [await bench.start('dispatch', fewSlots), await bench.start('dispatch', fewSlots)]
  let isOver = false
  let changes = 0
  const change = async () => {
    for (let round = 0; round < ROUNDS && !isOver; round++) {
      workers.push(await bench.start('dispatch', fewSlots))
      await workers.shift()!.stop()
      changes += 2
    }
  }
  const changing = change()
  const load = { kind: 'callers', callers: CALLERS } as const
  const result = await putLoadOn(bench, api.url, 'usual', { ...MEASURED, load }).finally(() => {
    isOver = true
  })
  await changing
  expectNone(bench, 'workers added and removed', result)
  const { latency, failures } = result
  return {
    title: 'workers added and removed under load',
    rows: [
      ['changes', 'calls/s', 'p50 ms', 'p99 ms', 'failed'],
      [
        String(changes),
        perSecond(result).toFixed(1),
        ms(latency.p50Ms),
        ms(latency.p99Ms),
        String(failures.count),
      ],
    ],
    notes: ['two workers; one is added, then the oldest is removed, in turn'],
  }
}
