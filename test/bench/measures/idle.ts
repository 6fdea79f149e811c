import { setTimeout as delay } from 'node:timers/promises'
import { type Bench, sampler } from '../bench-run.ts'
import { measureCpuTime } from '../process-usage.ts'
import type { Sample } from '../samples.ts'

const MEASURED_MS = 4_000
/** What the load before has left to do. */
const SETTLE_MS = 1_500

/** Processor time while nothing comes in, in percent of a core; of all targets at once. */
export async function measureIdle({ targets, scale }: Bench): Promise<Sample[]> {
  await delay(SETTLE_MS * scale)
  const startedAt = performance.now()
  const processes = targets.flatMap((target) =>
    [...target.processes].map(([process, pid]) => ({ target, process, pid })),
  )
  const { cpuMs } = await measureCpuTime(
    processes.map(({ pid }) => [String(pid), pid]),
    () => delay(MEASURED_MS * scale),
  )
  const elapsedMs = performance.now() - startedAt
  const percentOf = (pid: number) => (100 * (cpuMs.get(String(pid)) ?? 0)) / elapsedMs
  return targets.flatMap((target) => {
    if (target.processes.size === 0) return []
    const sum = [...target.processes.values()].reduce((total, pid) => total + percentOf(pid), 0)
    const sampleFor = sampler(target)
    const parts = [...target.processes].map(([process, pid]) =>
      sampleFor(`idle, of a core: ${process}`, '%', percentOf(pid)),
    )
    return [sampleFor('idle, of a core', '%', sum), ...parts]
  })
}
