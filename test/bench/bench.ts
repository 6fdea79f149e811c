/**
 * `npm run bench [-- --json] [--quick]`: brings up the whole gateway on throwaway data, each part in a process of its
 * own, and measures it against its own provider called directly, in one run. Takes about two minutes, with
 * `--quick` less than one. Exits
 * non-zero when calls failed or the books do not add up afterwards.
 */
import { startProcessGuard } from '../../tools/launcher/processes/process-guard.ts'
import { listenForStop } from '../../tools/launcher/processes/stop-request.ts'
import { type BenchReport, renderReport } from './bench-report.ts'
import { type BenchStack, startBenchStack } from './bench-stack.ts'
import { measureFairness } from './fairness.ts'
import { countHotPath } from './hot-path-counts.ts'
import { type LoadRunner, startLoadRunner } from './load-runner.ts'
import { measureLoopStalls } from './loop-stalls.ts'
import {
  type Bench,
  makeSomeCalls,
  measureCalls,
  measureMemory,
  measureProcessorTime,
  measureSteadyRate,
  measureStreams,
  shareOfOthers,
} from './measurements.ts'
import { waitForSettlement } from './settlement-drain.ts'

const ROUNDS = 3

async function main(): Promise<number> {
  const guard = startProcessGuard()
  const stop = listenForStop(() => process.exit(130))
  let stack: BenchStack | null = null
  let load: LoadRunner | null = null
  try {
    log('starting the gateway …')
    stack = await startBenchStack(guard, log)
    load = startLoadRunner()
    const rounds = process.argv.includes('--quick') ? 1 : ROUNDS
    const report = await Promise.race([
      measure({ stack, load, log, rounds, failures: [] }),
      stopped(stop.signal),
    ])
    print(process.argv.includes('--json') ? JSON.stringify(report, null, 2) : renderReport(report))
    return report.audit === 'green' && report.failures.length === 0 ? 0 : 1
  } finally {
    await load?.stop()
    await stack?.stop()
    stop.dispose()
    guard.close()
  }
}

async function measure(bench: Bench): Promise<BenchReport> {
  const startedAt = performance.now()
  await makeSomeCalls(bench)
  const hotPath = await countHotPath(bench.stack, () => makeSomeCalls(bench))
  const { result: comparisons, others } = await shareOfOthers(bench, async () => [
    ...(await measureCalls(bench)),
    ...(await measureSteadyRate(bench)),
    ...(await measureStreams(bench)),
  ])
  const fairness = await measureFairness(bench)
  const processorMicrosPerCall = await measureProcessorTime(bench)
  const memoryBytes = await measureMemory(bench)
  const loopStalls = await measureLoopStalls(bench)
  const settlement = await waitForSettlement(bench.stack.databaseUrl)
  const audit = await auditOf(bench.stack)
  return {
    comparisons,
    othersShare: others,
    fairness,
    loopStalls,
    processorMicrosPerCall,
    memoryBytes,
    hotPath,
    settlement,
    audit,
    failures: bench.failures,
    seconds: (performance.now() - startedAt) / 1000,
  }
}

/** The command exits non-zero over a discrepancy, and says which. */
async function auditOf(stack: BenchStack): Promise<BenchReport['audit']> {
  try {
    await stack.operate('audit')
    return 'green'
  } catch (error) {
    log((error as { stdout?: string }).stdout ?? (error as Error).message)
    return 'red'
  }
}

const stopped = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')))
  })

function log(line: string): void {
  process.stderr.write(`  ${line}\n`)
}

const print = (text: string) => process.stdout.write(`${text}\n`)

process.exitCode = await main()
// The channel to the launcher would keep us alive for its listeners' sake.
if (process.connected) process.disconnect()
