import { type Bench, putLoad, sampler } from '../bench-run.ts'
import type { LatencySummary } from '../load/latency-summary.ts'
import type { LoadResult } from '../load/load-scenario.ts'
import type { Sample } from '../samples.ts'

const CALLS_PER_SECOND = 250
const OPEN_STREAMS = 20
/** How long a stream of the paced model takes: 40 tokens at 50 a second. */
const STREAM_SECONDS = 0.8

/** Latency at a steady rate with a provider that takes 50 ms: what a target adds to an ordinary call. */
export async function measureSteadyRate(bench: Bench): Promise<Sample[]> {
  const load = { kind: 'paced', callsPerSecond: CALLS_PER_SECOND } as const
  const measure = (target: Bench['direct']) =>
    putLoad(bench, target, 'delayed', { load, durationMs: 3_000, warmUpMs: 500 })
  return addedLatency(bench, `${CALLS_PER_SECOND} calls/s`, measure, ({ latency }) => latency)
}

/** Time to the first token with some streams open, which begin at an even rate. */
export async function measureFirstToken(bench: Bench): Promise<Sample[]> {
  const load = { kind: 'paced', callsPerSecond: OPEN_STREAMS / STREAM_SECONDS } as const
  const measure = (target: Bench['direct']) =>
    putLoad(bench, target, 'paced', { stream: true, load, durationMs: 3_000, warmUpMs: 1_000 })
  return addedLatency(bench, `${OPEN_STREAMS} streams: first token`, measure, ({ firstToken }) => firstToken)
}

/** A latency of every target, and how much more it is than the provider's own in the same turn. */
async function addedLatency(
  { targets, direct }: Bench,
  what: string,
  measure: (target: Bench['direct']) => Promise<LoadResult>,
  latencyOf: (result: LoadResult) => LatencySummary,
): Promise<Sample[]> {
  const measured = new Map<string, LatencySummary>()
  for (const target of targets) measured.set(target.name, latencyOf(await measure(target)))
  const base = measured.get(direct.name)!
  return targets.flatMap((target) => {
    const { p50Ms, p99Ms } = measured.get(target.name)!
    const sampleFor = sampler(target)
    const absolute = [sampleFor(`${what}, p50`, 'ms', p50Ms), sampleFor(`${what}, p99`, 'ms', p99Ms)]
    if (target.name === direct.name) return absolute
    return [
      ...absolute,
      sampleFor(`${what}, added p50`, 'ms', p50Ms - base.p50Ms),
      sampleFor(`${what}, added p99`, 'ms', p99Ms - base.p99Ms),
    ]
  })
}
