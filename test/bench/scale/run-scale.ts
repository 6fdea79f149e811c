import { join } from 'node:path'
import { freePort } from '../../../tools/launcher/ports.ts'
import type { ProcessGuard } from '../../../tools/launcher/processes/process-guard.ts'
import { spawnPlan } from '../../../tools/launcher/processes/spawn-plan.ts'
import { simulatedProvidersPlan } from '../../../tools/launcher/start/gateway-plans.ts'
import { benchCatalog } from '../bench-catalog.ts'
import { type BenchOptions, UsageError } from '../bench-options.ts'
import { renderColumns } from '../bench-report.ts'
import { startLoadRunner } from '../load/load-runner.ts'
import { waitForSettlement } from '../settlement-drain.ts'
import { startGateway } from '../targets/gateway.ts'
import { type GatewayProcess, isGateway } from '../targets/target.ts'
import { measureApiInstances } from './api-instances.ts'
import { measureChurn } from './churn.ts'
import { measureFlood } from './flood.ts'
import { measureOpenStreams } from './open-streams.ts'
import { measureRollingRestart } from './rolling-restart.ts'
import type { ScaleBench, ScalePart, Table } from './scale-bench.ts'
import { measureSurge } from './surge.ts'
import { measureWorkers } from './workers.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PARTS = new Map<string, ScalePart>([
  ['workers', measureWorkers],
  ['instances', measureApiInstances],
  ['churn', measureChurn],
  ['restart', measureRollingRestart],
  ['surge', measureSurge],
  ['open', measureOpenStreams],
  ['flood', measureFlood],
])
const QUICK_SCALE = 0.5

/**
 * `npm run bench -- --scale`: starts services on throwaway data and measures one part after another, each with its own
 * processes of the gateway, printing each table at once. Resolves to the exit code: 1 if something failed that must not, or
 * the audit is red afterwards.
 */
export async function runScale(
  { only, quick }: BenchOptions,
  guard: ProcessGuard,
  log: (line: string) => void,
): Promise<number> {
  const unknown = only?.find((name) => !PARTS.has(name))
  if (unknown !== undefined) throw new UsageError(`there is no part named ${unknown}`)
  const resources = new AsyncDisposableStack()
  try {
    return await measureParts({ only, quick, guard, log, resources })
  } finally {
    await resources.disposeAsync()
  }
}

async function measureParts({
  only,
  quick,
  guard,
  log,
  resources,
}: Pick<BenchOptions, 'only' | 'quick'> & {
  guard: ProcessGuard
  log: (line: string) => void
  resources: AsyncDisposableStack
}): Promise<number> {
  const providerPort = await freePort()
  const provider = await spawnPlan(simulatedProvidersPlan(ROOT, process.env, providerPort), {
    onSpawn: (pid) => guard.add(pid, 'services'),
  })
  resources.defer(() => provider.stop())
  const catalog = benchCatalog(providerPort)
  const target = await startGateway({
    name: 'shuntyard',
    root: ROOT,
    catalog,
    isOneProcess: false,
    isBare: true,
    guard,
    log,
  })
  resources.defer(() => target.stop())
  if (!isGateway(target)) throw new Error('the target is no gateway')
  const load = startLoadRunner()
  resources.defer(() => load.stop())
  const failures: string[] = []
  for (const [name, part] of PARTS) {
    if (only && !only.includes(name)) continue
    log(`scale: ${name} …`)
    const processes: GatewayProcess[] = []
    const bench: ScaleBench = {
      ...{ target, load, log, failures, scale: quick ? QUICK_SCALE : 1 },
      async start(role, settings) {
        const started = await target.gateway.start(role, settings)
        processes.push(started)
        return started
      },
    }
    try {
      // Which the restart replaces, and so has its own.
      if (part !== measureRollingRestart) await bench.start('settlement')
      process.stdout.write(`${renderTable(await part(bench))}\n`)
    } finally {
      await Promise.all(processes.map((started) => started.stop()))
    }
  }
  const settlement = await target.gateway.start('settlement')
  try {
    const { settled } = await waitForSettlement(target.gateway.databaseUrl)
    await target.gateway.operate('audit')
    process.stdout.write(`${settled} calls settled; audit green\n`)
  } catch (error) {
    failures.push(`audit: ${(error as Error).message}`)
  } finally {
    await settlement.stop()
  }
  for (const failure of failures) process.stdout.write(`FAILED ${failure}\n`)
  return failures.length > 0 ? 1 : 0
}

const renderTable = ({ title, rows, notes }: Table): string =>
  [
    `\n${title}`,
    ...(rows.length > 0 ? [renderColumns(rows).trimEnd()] : []),
    ...notes.map((note) => `  ${note}`),
  ].join('\n')
