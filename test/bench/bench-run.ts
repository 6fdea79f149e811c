import type { BenchModel } from './bench-catalog.ts'
import type { LoadRunner } from './load/load-runner.ts'
import type { LoadResult, Scenario } from './load/load-scenario.ts'
import { measureCpuTime } from './process-usage.ts'
import type { Sample, Unit } from './samples.ts'
import { requestTo, type Target } from './targets/target.ts'

/** What every measure works with. */
export interface Bench {
  /** In the order in which they are measured, which changes from turn to turn. */
  targets: readonly Target[]
  /** The provider called directly: what every target adds to. */
  direct: Target
  /** The one that the others are compared with. */
  subject: Target
  load: LoadRunner
  /** Processes that serve every target: the provider and the load generator. */
  shared: ReadonlyMap<string, number>
  /** Multiplies the time of every measure. */
  scale: number
  log: (line: string) => void
  /** Calls that failed, with reasons; a bench with any has measured something else. */
  failures: string[]
}

/** Measures some figures once. */
export type Measure = (bench: Bench) => Promise<Sample[]>

const WARM_UP_CALLERS = 128
const WARM_UP_STREAMS = 16
const WARM_UP_MS = 4_000

/** Lets every target compile its paths and open its connections; those for streams only where any are measured. */
export async function warmUp(bench: Bench, { withStreams }: { withStreams: boolean }): Promise<void> {
  for (const target of bench.targets) {
    const shape = { durationMs: WARM_UP_MS, warmUpMs: 0 }
    await putLoad(bench, target, 'plain', { ...shape, load: { kind: 'callers', callers: WARM_UP_CALLERS } })
    if (!withStreams) continue
    const streams = { ...shape, durationMs: WARM_UP_MS / 4, stream: true }
    await putLoad(bench, target, 'burst', { ...streams, load: { kind: 'callers', callers: WARM_UP_STREAMS } })
  }
}

/**
 * Repeats the measures, the targets in turn within each and in the opposite order in every second turn. No turn begins
 * that would not end by the deadline (of `performance.now()`), except the first.
 */
export async function runTurns(
  bench: Bench,
  measures: ReadonlyMap<string, Measure>,
  { turns, endsAt }: { turns: number; endsAt: number },
): Promise<Sample[][]> {
  const samples: Sample[][] = []
  let longestMs = 0
  while (samples.length === 0 || (samples.length < turns && performance.now() + longestMs < endsAt)) {
    const startedAt = performance.now()
    const targets = samples.length % 2 === 0 ? bench.targets : bench.targets.toReversed()
    const turn: Sample[] = []
    for (const [name, measure] of measures) {
      bench.log(`turn ${samples.length + 1} of ${turns}: ${name}`)
      turn.push(...(await measure({ ...bench, targets })))
    }
    samples.push(turn)
    longestMs = Math.max(longestMs, performance.now() - startedAt)
  }
  return samples
}

export type Shape = Omit<Scenario, 'request'> & {
  stream?: boolean
  headers?: Record<string, string>
  /** Sent in place of a short prompt, to a path of its own. */
  sent?: { path: string; body: string }
}

/** Puts a load on a target for the scaled time; failures are noted. */
export async function putLoad(
  { load, scale, failures }: Bench,
  target: Target,
  model: BenchModel,
  { stream = false, headers = target.headers, sent, durationMs, warmUpMs, ...shape }: Shape,
): Promise<LoadResult> {
  const plain = requestTo(target, model, { stream })
  const request = {
    ...{ ...plain, headers },
    ...(sent && { url: new URL(sent.path, plain.url).href, body: sent.body }),
  }
  const result = await load.run({
    ...shape,
    request,
    durationMs: durationMs * scale,
    warmUpMs: warmUpMs * scale,
  })
  noteFailures(failures, `${target.name}, ${model}`, result)
  return result
}

export function noteFailures(failures: string[], what: string, { failures: failed }: LoadResult): void {
  if (failed.count > 0) failures.push(`${what}: ${failed.count} failed: ${failed.reasons.join(' | ')}`)
}

/** The processor time a call, in µs, that a load costs: of the target together, of its parts, and of what all share. */
export async function putLoadOnClock(
  bench: Bench,
  target: Target,
  model: BenchModel,
  shape: Shape & { name: string },
): Promise<{ result: LoadResult; samples: Sample[] }> {
  const { name, ...load } = shape
  const { result, cpuMs } = await measureCpuTime([...target.processes, ...bench.shared], () =>
    putLoad(bench, target, model, load),
  )
  const perCall = (ms: number) => (1_000 * ms) / result.callsInAll
  const own = [...target.processes.keys()].reduce((sum, process) => sum + (cpuMs.get(process) ?? 0), 0)
  const sampleFor = sampler(target)
  return {
    result,
    samples: [
      ...(target.processes.size > 0 ? [sampleFor(`CPU a call, ${name}`, 'µs', perCall(own))] : []),
      ...[...cpuMs].map(([process, ms]) => sampleFor(`CPU a call, ${name}: ${process}`, 'µs', perCall(ms))),
    ],
  }
}

/** Makes samples of one target. */
export const sampler =
  (target: Target) =>
  (name: string, unit: Unit, value: number): Sample => ({ name, unit, target: target.name, value })
