import { type Bench, noteFailures, putLoad, sampler } from '../bench-run.ts'
import type { LatencySummary } from '../load/latency-summary.ts'
import { startLoadRunner } from '../load/load-runner.ts'
import type { Sample } from '../samples.ts'
import { type GatewayTarget, isGateway, requestTo } from '../targets/target.ts'

/**
 * More than one dispatch worker runs at once, each a second long: some always wait. They begin over as long as a call
 * takes: calls of equal length that begin together end together for ever, which is one caller's burst a second.
 */
const FLOOD_CALLERS = 600
const FLOOD_CALL_MS = 1_000
const QUIET_CALLS_PER_SECOND = 40
const MEASURED_MS = 4_000
/** The flood fills the worker's slots and its part of the queue. */
const FLOOD_AHEAD_MS = 2_000

/** Calls of a quiet account at a low rate, alone and beside an account that floods the queue, and the ratio of the two. */
export async function measureFairness(bench: Bench): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const target of bench.targets.filter(isGateway)) {
    const alone = await measureQuietCalls(bench, target, 0)
    const beside = await besideFlood(bench, target)
    const sampleFor = sampler(target)
    samples.push(
      sampleFor('quiet account, alone: p50', 'ms', alone.p50Ms),
      sampleFor('quiet account, alone: p99', 'ms', alone.p99Ms),
      sampleFor('quiet account, beside a flood: p50', 'ms', beside.p50Ms),
      sampleFor('quiet account, beside a flood: p99', 'ms', beside.p99Ms),
      sampleFor('quiet account, flood ÷ alone: p50 (goal 2)', '', beside.p50Ms / alone.p50Ms),
      sampleFor('quiet account, flood ÷ alone: p99 (goal 2)', '', beside.p99Ms / alone.p99Ms),
    )
  }
  return samples
}

async function besideFlood(bench: Bench, target: GatewayTarget): Promise<LatencySummary> {
  const load = startLoadRunner()
  try {
    const [flood, quiet] = await Promise.all([
      load.run({
        request: requestTo(target, 'slow'),
        load: { kind: 'callers', callers: FLOOD_CALLERS, startOverMs: FLOOD_CALL_MS },
        durationMs: FLOOD_AHEAD_MS + MEASURED_MS,
        warmUpMs: 0,
      }),
      measureQuietCalls(bench, target, FLOOD_AHEAD_MS),
    ])
    noteFailures(bench.failures, `${target.name}, flood`, flood)
    return quiet
  } finally {
    await load.stop()
  }
}

async function measureQuietCalls(
  bench: Bench,
  target: GatewayTarget,
  warmUpMs: number,
): Promise<LatencySummary> {
  const { latency } = await putLoad({ ...bench, scale: 1 }, target, 'delayed', {
    headers: target.gateway.quietHeaders,
    load: { kind: 'paced', callsPerSecond: QUIET_CALLS_PER_SECOND },
    durationMs: MEASURED_MS,
    warmUpMs,
  })
  return latency
}
