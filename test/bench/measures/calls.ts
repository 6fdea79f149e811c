import { type Bench, putLoadOnClock, sampler } from '../bench-run.ts'
import { readProcessUsage } from '../process-usage.ts'
import type { Sample } from '../samples.ts'

const CALLER_LEVELS = [1, 32, 128, 512]
/** The level that is called saturation. */
const SATURATION_CALLERS = 128
const MEASURED = { durationMs: 2_000, warmUpMs: 500 }
/** Long enough for the ticks in which processor time is counted. */
const TENTH = { durationMs: 4_000, warmUpMs: 500 }
const BYTES_PER_MB = 2 ** 20

/**
 * Calls per second and latency at several numbers of callers, the provider answering at once; processor time a call at
 * saturation, and at a tenth of the subject's calls per second there; memory after the most callers.
 */
export async function measureCalls(bench: Bench): Promise<Sample[]> {
  const samples: Sample[] = []
  const cpuSamples: Sample[] = []
  let saturation = 0
  for (const callers of CALLER_LEVELS) {
    const name = `${callers} caller${callers === 1 ? '' : 's'}`
    for (const target of bench.targets) {
      const shape = { ...MEASURED, load: { kind: 'callers', callers } as const }
      const { result, samples: cpu } = await putLoadOnClock(bench, target, 'plain', { ...shape, name })
      const callsPerSecond = result.calls / result.seconds
      const sampleFor = sampler(target)
      samples.push(
        sampleFor(`${name}: calls`, '/s', callsPerSecond),
        sampleFor(`${name}: p50`, 'ms', result.latency.p50Ms),
        sampleFor(`${name}: p99`, 'ms', result.latency.p99Ms),
      )
      if (callers !== SATURATION_CALLERS) continue
      cpuSamples.push(...cpu)
      if (target.name === bench.subject.name) saturation = callsPerSecond
    }
  }
  const memorySamples = await readMemory(bench)
  return [...samples, ...cpuSamples, ...(await measureTenth(bench, saturation / 10)), ...memorySamples]
}

/** Most gateways have little to do most of the time, which costs more a call. */
async function measureTenth(bench: Bench, callsPerSecond: number): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const target of bench.targets) {
    const load = { kind: 'paced', callsPerSecond } as const
    const name = 'a tenth of saturation'
    const { result, samples: cpu } = await putLoadOnClock(bench, target, 'delayed', {
      ...TENTH,
      load,
      name,
    })
    samples.push(sampler(target)(`${name}: calls`, '/s', result.calls / result.seconds), ...cpu)
  }
  return samples
}

async function readMemory({ targets }: Bench): Promise<Sample[]> {
  const usage = await readProcessUsage(targets.flatMap(({ processes }) => [...processes.values()]))
  return targets.flatMap((target) =>
    [...target.processes].map(([process, pid]) =>
      sampler(target)(`memory at load: ${process}`, 'MB', usage.get(pid)!.memoryBytes / BYTES_PER_MB),
    ),
  )
}
