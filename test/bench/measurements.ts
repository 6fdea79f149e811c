import { availableParallelism } from 'node:os'
import { BENCH_MODELS, type BenchModel, BURST_TOKENS } from './bench-catalog.ts'
import type { BenchStack } from './bench-stack.ts'
import { median } from './latency-summary.ts'
import type { LoadRunner } from './load-runner.ts'
import type { LoadResult, Scenario, Target } from './load-scenario.ts'
import { type ProcessUsage, readMachineBusyMs, readProcessUsage } from './process-usage.ts'

/** One figure, directly at the provider and through the gateway; medians over the rounds. */
export interface Comparison {
  name: string
  unit: '/s' | 'ms'
  direct: number
  gateway: number
}

export interface Bench {
  stack: BenchStack
  load: LoadRunner
  log: (line: string) => void
  /** Rounds a figure is the median of. */
  rounds: number
  /** Calls that failed, with reasons; a bench with any has measured something else. */
  failures: string[]
}

const CALLER_LEVELS = [1, 32, 128]
const PACED_CALLS_PER_SECOND = 1_200
const OPEN_STREAMS = 100
/** How long a stream of the paced model takes: 40 tokens at 50 a second. */
const STREAM_SECONDS = 0.8
const BURST_CALLERS = 32

/** Calls per second and latency, not streaming, at several numbers of callers. */
export async function measureCalls(bench: Bench): Promise<Comparison[]> {
  const comparisons: Comparison[] = []
  for (const callers of CALLER_LEVELS) {
    const what = `${callers} caller${callers === 1 ? '' : 's'}`
    const compared = await compare(bench, what, 'plain', {
      stream: false,
      load: { kind: 'callers', callers },
      durationMs: 2_000,
      warmUpMs: 500,
    })
    comparisons.push(
      compared(`${what}: calls`, '/s', ({ calls, seconds }) => calls / seconds),
      compared(`${what}: p50`, 'ms', ({ latency }) => latency.p50Ms),
      compared(`${what}: p99`, 'ms', ({ latency }) => latency.p99Ms),
    )
  }
  return comparisons
}

/** Latency at a steady rate with a provider that takes 50 ms: what the gateway adds to an ordinary call. */
export async function measureSteadyRate(bench: Bench): Promise<Comparison[]> {
  const what = `${PACED_CALLS_PER_SECOND} calls/s, provider of 50 ms`
  const compared = await compare(bench, what, 'delayed', {
    stream: false,
    load: { kind: 'paced', callsPerSecond: PACED_CALLS_PER_SECOND },
    durationMs: 2_500,
    warmUpMs: 500,
  })
  return [
    compared(`${what}: p50`, 'ms', ({ latency }) => latency.p50Ms),
    compared(`${what}: p99`, 'ms', ({ latency }) => latency.p99Ms),
  ]
}

/** Time to the first token with many streams open, and tokens relayed per second. */
export async function measureStreams(bench: Bench): Promise<Comparison[]> {
  const what = `${OPEN_STREAMS} streams: first token`
  const paced = await compare(bench, what, 'paced', {
    stream: true,
    // At an even rate: streams of equal length that begin together would begin together for ever.
    load: { kind: 'paced', callsPerSecond: OPEN_STREAMS / STREAM_SECONDS },
    durationMs: 3_500,
    warmUpMs: 800,
  })
  const burst = await compare(bench, 'tokens relayed', 'burst', {
    stream: true,
    load: { kind: 'callers', callers: BURST_CALLERS },
    durationMs: 2_500,
    warmUpMs: 500,
  })
  return [
    paced(`${what} p50`, 'ms', ({ firstToken }) => firstToken.p50Ms),
    paced(`${what} p99`, 'ms', ({ firstToken }) => firstToken.p99Ms),
    burst(`${BURST_CALLERS} streams: tokens`, '/s', ({ calls, seconds }) => (calls * BURST_TOKENS) / seconds),
  ]
}

/** Processor time a call at the highest number of callers, in µs, by process. */
export async function measureProcessorTime(bench: Bench): Promise<Record<string, number>> {
  const callers = CALLER_LEVELS.at(-1) ?? 1
  const before = await readUsage(bench.stack)
  const scenario = scenarioFor(bench.stack, 'gateway', 'plain', {
    stream: false,
    load: { kind: 'callers', callers },
    durationMs: 2_500,
    warmUpMs: 0,
  })
  const { calls } = await bench.load.run(scenario)
  const after = await readUsage(bench.stack)
  return Object.fromEntries(
    [...after].map(([name, { cpuMs }]) => [name, ((cpuMs - (before.get(name)?.cpuMs ?? 0)) * 1000) / calls]),
  )
}

/** Resident memory by process, in bytes. */
export async function measureMemory(bench: Bench): Promise<Record<string, number>> {
  const usage = await readUsage(bench.stack)
  return Object.fromEntries([...usage].map(([name, { memoryBytes }]) => [name, memoryBytes]))
}

/**
 * Share of the machine's processors, 0 to 1, that processes other than the bench took while `measure` ran. A
 * bench on a busy machine measures the machine.
 */
export async function shareOfOthers<T>(
  bench: Bench,
  measure: () => Promise<T>,
): Promise<{ result: T; others: number }> {
  // This process's own children are the load and the stack; PostgreSQL's are a generation further.
  const postgres = bench.stack.processes.get('postgres') ?? 0
  const ownMs = async () => {
    const usage = await readProcessUsage([process.pid, postgres])
    const database = await readProcessUsage([postgres], { children: false })
    return usage.get(process.pid)!.cpuMs + usage.get(postgres)!.cpuMs - database.get(postgres)!.cpuMs
  }
  const before = { machine: await readMachineBusyMs(), own: await ownMs(), at: performance.now() }
  const result = await measure()
  const machineMs = (await readMachineBusyMs()) - before.machine
  const capacityMs = (performance.now() - before.at) * availableParallelism()
  const othersMs = machineMs - ((await ownMs()) - before.own)
  return { result, others: Math.max(0, othersMs / capacityMs) }
}

/** A closed loop of one caller for a while; resolves to the calls made. */
export async function makeSomeCalls(bench: Bench): Promise<number> {
  const scenario = scenarioFor(bench.stack, 'gateway', 'plain', {
    stream: false,
    load: { kind: 'callers', callers: 1 },
    durationMs: 2_000,
    warmUpMs: 0,
  })
  return (await bench.load.run(scenario)).calls
}

async function readUsage({ processes }: BenchStack): Promise<Map<string, ProcessUsage>> {
  const usage = await readProcessUsage([...processes.values()])
  return new Map([...processes].map(([name, pid]) => [name, usage.get(pid)!]))
}

type Shape = Omit<Scenario, 'target'> & { stream: boolean }

/** Measures direct and through the gateway in turn, round after round, so that both meet the same machine. */
async function compare(bench: Bench, what: string, model: BenchModel, shape: Shape) {
  const results = { direct: [] as LoadResult[], gateway: [] as LoadResult[] }
  for (let round = 0; round < bench.rounds; round++) {
    for (const target of ['direct', 'gateway'] as const) {
      const result = await bench.load.run(scenarioFor(bench.stack, target, model, shape))
      results[target].push(result)
      const { count, reasons } = result.failures
      if (count > 0) bench.failures.push(`${what}, ${target}: ${count} failed: ${reasons.join(' | ')}`)
    }
  }
  bench.log(`measured: ${what}`)
  return (name: string, unit: Comparison['unit'], figure: (result: LoadResult) => number): Comparison => ({
    name,
    unit,
    direct: median(results.direct.map(figure)),
    gateway: median(results.gateway.map(figure)),
  })
}

function scenarioFor(
  stack: BenchStack,
  to: 'direct' | 'gateway',
  model: BenchModel,
  { stream, ...shape }: Shape,
): Scenario {
  const target: Target =
    to === 'direct'
      ? {
          port: stack.providerPort,
          path: '/alpha/v1/chat/completions',
          apiKey: 'none',
          model: BENCH_MODELS[model],
          stream,
        }
      : {
          port: stack.apiPort,
          path: '/v1/chat/completions',
          apiKey: stack.apiKey,
          model: `bench/${model}`,
          stream,
        }
  return { target, ...shape }
}
