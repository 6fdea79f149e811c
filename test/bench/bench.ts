/**
 * `npm run bench [-- options]`: brings up the whole gateway on throwaway data, each part in a process of its own, and
 * measures it in turn with its own provider called directly, a plain relay, and whatever else the options name
 * (`bench-options.ts`). Takes five minutes by itself, with `--quick` about one. Exits non-zero when calls failed or an
 * audit is red afterwards.
 */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { startProcessGuard } from '../../tools/launcher/processes/process-guard.ts'
import { listenForStop } from '../../tools/launcher/processes/stop-request.ts'
import { type BenchOptions, readBenchOptions, USAGE, UsageError } from './bench-options.ts'
import { type BenchReport, renderReport } from './bench-report.ts'
import { type Bench, type Measure, runTurns, warmUp } from './bench-run.ts'
import { type LoadRunner, startLoadRunner } from './load/load-runner.ts'
import { measureBodies } from './measures/bodies.ts'
import { measureCalls } from './measures/calls.ts'
import { measureFairness } from './measures/fairness.ts'
import { measureIdle } from './measures/idle.ts'
import { measureLoopStalls } from './measures/loop-stalls.ts'
import { measurePropagation } from './measures/propagation.ts'
import { measureRedisUse } from './measures/redis-use.ts'
import { measureFirstToken, measureSteadyRate } from './measures/steady-rate.ts'
import { measureTokens } from './measures/tokens.ts'
import { shareOfOthers } from './process-usage.ts'
import { compareTurns } from './samples.ts'
import { runScale } from './scale/run-scale.ts'
import { waitForSettlement } from './settlement-drain.ts'
import { type StartedTargets, startTargets } from './targets/start-targets.ts'
import { type GatewayTarget, isGateway } from './targets/target.ts'

const HOSTILE = 'stalls'
/** Taken only where it is named, since it takes as long as all others. */
const ALONE = 'bodies'
const MEASURES = new Map<string, Measure>([
  ['calls', measureCalls],
  ['steady', measureSteadyRate],
  ['streams', measureFirstToken],
  ['tokens', measureTokens],
  ['fairness', measureFairness],
  ['redis', measureRedisUse],
  ['idle', measureIdle],
  ['propagation', measurePropagation],
  [ALONE, measureBodies],
  [HOSTILE, measureLoopStalls],
])
/** Those that a gateway without streams cannot take. */
const STREAMED = ['streams', 'tokens']
const QUICK_SCALE = 0.5

async function main(): Promise<number> {
  const options = readBenchOptions(process.argv.slice(2))
  const guard = startProcessGuard()
  const stop = listenForStop(() => process.exit(130))
  if (options.scale) return runScale(options, guard, log).finally(() => guard.close())
  const measures = selectMeasures(options.only)
  let started: StartedTargets | null = null
  let load: LoadRunner | null = null
  try {
    const against = options.against && resolve(options.against)
    started = await startTargets({ ...options, against }, guard, log)
    load = startLoadRunner()
    const bench: Bench = {
      ...started,
      load,
      shared: new Map([
        ['provider', started.providerPid],
        ['load generator', load.pid],
      ]),
      scale: options.quick ? QUICK_SCALE : 1,
      log,
      failures: [],
    }
    const report = await Promise.race([measure(bench, measures, options), stopped(stop.signal)])
    process.stdout.write(`${renderReport(report)}\n`)
    if (options.jsonFile !== null) await writeFile(options.jsonFile, `${JSON.stringify(report, null, 2)}\n`)
    const isRed = report.ledgers.some(({ audit }) => audit === 'red')
    return isRed || report.failures.length > 0 ? 1 : 0
  } finally {
    await load?.stop()
    await started?.stop()
    stop.dispose()
    guard.close()
  }
}

function selectMeasures(only: BenchOptions['only']): Map<string, Measure> {
  const unknown = only?.find((name) => !MEASURES.has(name))
  if (unknown !== undefined) throw new UsageError(`there is no measure named ${unknown}`)
  return new Map([...MEASURES].filter(([name]) => only?.includes(name) ?? name !== ALONE))
}

async function measure(
  bench: Bench,
  measures: Map<string, Measure>,
  { turns, timeLimitMs, peers }: BenchOptions,
): Promise<BenchReport> {
  const startedAt = performance.now()
  log('warming up …')
  await warmUp(bench, { withStreams: STREAMED.some((name) => measures.has(name)) })
  if (bench.failures.length > 0)
    throw new Error(`not every target answers:\n  ${bench.failures.join('\n  ')}`)
  const endsAt = startedAt + timeLimitMs
  // The hostile bodies leave memory behind, which would count as that of the next turn.
  const isHostile = ([name]: [string, Measure]) => name === HOSTILE
  const hostile = new Map([...measures].filter(isHostile))
  const ordinary = new Map([...measures].filter((measure) => !isHostile(measure)))
  const pids = [process.pid, ...peers.flatMap(({ pid }) => pid ?? [])]
  const { result: samples, others } = await shareOfOthers(pids, async () => {
    const first = await runTurns(bench, ordinary, { turns, endsAt })
    const last = await runTurns(bench, hostile, { turns: first.length, endsAt })
    return first.map((turn, index) => [...turn, ...(last[index] ?? [])])
  })
  const ledgers: BenchReport['ledgers'] = []
  for (const target of bench.targets.filter(isGateway)) {
    const settlement = await waitForSettlement(target.gateway.databaseUrl)
    ledgers.push({ target: target.name, settlement, audit: await auditOf(target) })
  }
  return {
    subject: bench.subject.name,
    targets: bench.targets.map(({ name }) => name),
    turns: samples.length,
    rows: compareTurns(samples, bench.subject.name),
    ledgers,
    othersShare: others,
    failures: bench.failures,
    seconds: (performance.now() - startedAt) / 1000,
  }
}

/** The command exits non-zero over a discrepancy, and prints it. */
async function auditOf({ gateway }: GatewayTarget): Promise<'green' | 'red'> {
  try {
    await gateway.operate('audit')
    return 'green'
  } catch (error) {
    log((error as Error).message)
    return 'red'
  }
}

const stopped = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const end = () => reject(new Error('stopped'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })

function log(line: string): void {
  process.stderr.write(`  ${line}\n`)
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(
    error instanceof UsageError ? `${error.message}\n\n${USAGE}\n` : `\n${(error as Error).message}\n`,
  )
  process.exitCode = error instanceof UsageError ? 2 : 1
}
// The channel to the launcher would keep us alive for its listeners' sake.
if (process.connected) process.disconnect()
