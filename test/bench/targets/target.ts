import { BENCH_MODELS, type BenchModel } from '../bench-catalog.ts'
import type { LoadRequest } from '../load/load-scenario.ts'

/** What the bench puts load on and measures: the provider itself, a relay, a gateway of this project, or a peer. */
export interface Target {
  name: string
  /** The address of its chat completions, on this machine. */
  url: string
  headers: Record<string, string>
  /** Process ids by name; empty where they are unknown. Their children are counted with them. */
  processes: ReadonlyMap<string, number>
  /** Absent for everything that is not a gateway of this project. */
  gateway?: GatewayAccess
  stop(): Promise<void>
}

/** What a gateway of this project can be measured by beyond its answers. */
export interface GatewayAccess {
  /** The headers of a second account. */
  quietHeaders: Record<string, string>
  metricsPorts: Record<'api' | 'dispatch', number>
  databaseUrl: string
  redisTcpUrl: string
  /** Runs one of the operator's commands and returns what it prints with --json. */
  operate(command: 'admin' | 'audit', ...args: string[]): Promise<Record<string, unknown>>
  /** Starts another process over the same services, with further settings. */
  start(role: GatewayRole, settings?: Record<string, string>): Promise<GatewayProcess>
}

export type GatewayRole = 'api' | 'dispatch' | 'settlement'

export interface GatewayProcess {
  /** The base address of an API instance. */
  url: string
  metricsPort: number
  pid: number
  /** SIGTERM, and waits for the end. */
  stop(): Promise<void>
}

export type GatewayTarget = Target & { gateway: GatewayAccess }

export const isGateway = (target: Target): target is GatewayTarget => target.gateway !== undefined

/** A call of a bench model. Gateways of this project serve it under the catalog's id, all others under the provider's. */
export function requestTo(target: Target, model: BenchModel, { stream = false } = {}): LoadRequest {
  const { url, headers } = target
  return { url, headers, model: isGateway(target) ? `bench/${model}` : BENCH_MODELS[model], stream }
}
