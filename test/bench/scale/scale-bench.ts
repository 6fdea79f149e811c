import type { BenchModel } from '../bench-catalog.ts'
import type { LoadRunner } from '../load/load-runner.ts'
import type { LoadResult, Scenario } from '../load/load-scenario.ts'
import {
  type GatewayAccess,
  type GatewayProcess,
  type GatewayRole,
  type GatewayTarget,
  requestTo,
} from '../targets/target.ts'

/** What a part of the scaling bench works with: services without processes of the gateway, which each part starts. */
export interface ScaleBench {
  target: GatewayTarget
  load: LoadRunner
  /** Multiplies the time of every load. */
  scale: number
  log: (line: string) => void
  /** What must not have happened. */
  failures: string[]
  /** Starts a process that ends with the part. */
  start(role: GatewayRole, settings?: Record<string, string>): Promise<GatewayProcess>
}

export interface Table {
  title: string
  /** The first row names the columns. */
  rows: string[][]
  /** What the figures mean, or why there are none. */
  notes: string[]
}

export type ScalePart = (bench: ScaleBench) => Promise<Table>

/** Settings of processes that have few slots, so that their number decides and not the machine. */
export const FEW_SLOTS = 12
export const fewSlots = { WORKER_CONCURRENCY: String(FEW_SLOTS) }
/** Of one worker with those slots and the model `usual`. */
export const CALLS_PER_SECOND = FEW_SLOTS / 0.3

/** Puts a load on an API instance or a balancer. */
export function putLoadOn(
  { load, scale, target }: ScaleBench,
  baseUrl: string,
  model: BenchModel,
  scenario: Omit<Scenario, 'request'> & { stream?: boolean; headers?: GatewayAccess['quietHeaders'] },
): Promise<LoadResult> {
  const { stream = false, headers = target.headers, ...shape } = scenario
  const url = `${baseUrl}${new URL(target.url).pathname}`
  return load.run({
    ...shape,
    request: { ...requestTo(target, model, { stream }), url, headers },
    durationMs: shape.durationMs * scale,
    warmUpMs: shape.warmUpMs * scale,
  })
}

export const perSecond = ({ calls, seconds }: LoadResult): number => calls / seconds

/** Failures that are refusals, and all others. */
export function refusals({ failures: { count, byStatus } }: LoadResult): { refused: number; failed: number } {
  const refused = (byStatus[429] ?? 0) + (byStatus[503] ?? 0) + (byStatus[408] ?? 0)
  return { refused, failed: count - refused }
}

/** Notes failures of a load that should have none. */
export function expectNone({ failures }: ScaleBench, what: string, { failures: failed }: LoadResult): void {
  if (failed.count > 0) failures.push(`${what}: ${failed.count} failed: ${failed.reasons.join(' | ')}`)
}

export const ms = (value: number): string => (Number.isFinite(value) ? value.toFixed(0) : '–')
