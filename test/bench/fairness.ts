import { median } from './latency-summary.ts'
import { startLoadRunner } from './load-runner.ts'
import type { Scenario } from './load-scenario.ts'
import type { Bench } from './measurements.ts'

/** What one account feels of another's flood: p99 of its calls, medians over the rounds. */
export interface Fairness {
  aloneP99Ms: number
  besideFloodP99Ms: number
}

/** What a quiet account's p99 may grow by beside a flood. */
export const FAIRNESS_RATIO_MAX = 2

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

/** Calls of a quiet account at a low rate, alone and beside an account that floods the queue. */
export async function measureFairness(bench: Bench): Promise<Fairness> {
  const flood = startLoadRunner()
  try {
    const rounds: Fairness[] = []
    for (let round = 0; round < bench.rounds; round++) {
      const aloneP99Ms = await quietP99Ms(bench, 0)
      const flooding = flood.run(floodScenario(bench))
      const besideFloodP99Ms = await quietP99Ms(bench, FLOOD_AHEAD_MS)
      const { failures } = await flooding
      if (failures.count > 0)
        bench.failures.push(`flood: ${failures.count} failed: ${failures.reasons.join(' | ')}`)
      rounds.push({ aloneP99Ms, besideFloodP99Ms })
    }
    bench.log('measured: a quiet account beside a flooding one')
    return {
      aloneP99Ms: median(rounds.map((round) => round.aloneP99Ms)),
      besideFloodP99Ms: median(rounds.map((round) => round.besideFloodP99Ms)),
    }
  } finally {
    await flood.stop()
  }
}

async function quietP99Ms({ stack, load, failures }: Bench, warmUpMs: number): Promise<number> {
  const result = await load.run({
    target: {
      port: stack.apiPort,
      path: '/v1/chat/completions',
      apiKey: stack.quietApiKey,
      model: 'bench/delayed',
      stream: false,
    },
    load: { kind: 'paced', callsPerSecond: QUIET_CALLS_PER_SECOND },
    durationMs: MEASURED_MS,
    warmUpMs,
  })
  const { count, reasons } = result.failures
  if (count > 0) failures.push(`quiet account: ${count} failed: ${reasons.join(' | ')}`)
  return result.latency.p99Ms
}

const floodScenario = ({ stack }: Bench): Scenario => ({
  target: {
    port: stack.apiPort,
    path: '/v1/chat/completions',
    apiKey: stack.apiKey,
    model: 'bench/slow',
    stream: false,
  },
  load: { kind: 'callers', callers: FLOOD_CALLERS, startOverMs: FLOOD_CALL_MS },
  durationMs: FLOOD_AHEAD_MS + MEASURED_MS,
  warmUpMs: 0,
})
