import { createConnection } from 'node:net'
import { join } from 'node:path'
import type { ProcessPlan } from '../processes/spawn-plan.ts'

const READY_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 30_000
/**
 * For objects that live as long as a call: a young generation that outlasts them, none put into the old generation at
 * once, an old one that grows slowly, and few threads that collect beside the event loop. See docs/scaling.md.
 */
const NODE_ARGS = [
  '--max-semi-space-size=24',
  '--no-allocation-site-pretenuring',
  '--heap-growing-percent=60',
  '--v8-pool-size=2',
]
/** Settlement is not latency-sensitive: a small young generation suffices. The last of two equal flags counts. */
const SETTLEMENT_ARGS = ['--max-semi-space-size=4']
/** Threads share two glibc arenas, so that freed memory is not kept in an arena per thread. */
const MEMORY_SETTINGS = { MALLOC_ARENA_MAX: '2' }

type Environment = Record<string, string | undefined>

/** So few processors are always shared; a single process then answers sooner, and takes half the memory. */
const FEW_PROCESSORS = 2

/** Whether API and workers run in one process. */
export const sharesOneProcess = ({ ONE_PROCESS }: Environment, processors: number): boolean =>
  ONE_PROCESS ? ONE_PROCESS === 'true' : processors <= FEW_PROCESSORS

/** The stand-in providers, so that a newcomer sees streaming without an account anywhere. */
export function simulatedProvidersPlan(root: string, environment: Environment, port: number): ProcessPlan {
  return {
    ...nodePlan(root, 'simulated-providers', ['tools/simulated-providers/main.ts'], environment),
    // Nothing else: it serves any caller, and needs no secret.
    env: { PATH: environment.PATH, SIMULATED_PROVIDERS_PORT: String(port) },
    probe: (signal) => listens({ host: '127.0.0.1', port }, signal),
  }
}

/** The API tier; it serves once /readyz reports it. */
export function apiPlan(root: string, environment: Environment, baseUrl: string): ProcessPlan {
  return {
    ...nodePlan(root, 'api', ['src/main.ts'], environment),
    probe: (signal) => isReady(baseUrl, signal),
  }
}

/** API tier and workers in one process. */
export function gatewayPlan(root: string, environment: Environment, baseUrl: string): ProcessPlan {
  return {
    ...nodePlan(root, 'gateway', ['workers/main.ts', 'all'], environment),
    probe: (signal) => isReady(baseUrl, signal),
  }
}

/** A worker process; `role` is the argument of workers/main.ts. It runs once its metrics can be read. */
export function workerPlan(
  root: string,
  environment: Environment,
  role: 'dispatch' | 'settlement',
  metrics: { host: string; port: number },
): ProcessPlan {
  const env = { ...environment, METRICS_PORT: String(metrics.port) }
  const nodeArgs = role === 'settlement' ? SETTLEMENT_ARGS : []
  return {
    ...nodePlan(root, `${role}-worker`, ['workers/main.ts', role], env, nodeArgs),
    probe: (signal) => listens(metrics, signal),
  }
}

function nodePlan(
  root: string,
  name: string,
  args: string[],
  env: Environment,
  nodeArgs: string[] = [],
): ProcessPlan {
  const [entry = '', ...rest] = args
  return {
    name,
    command: process.execPath,
    args: [...NODE_ARGS, ...nodeArgs, join(root, entry), ...rest],
    // As the launcher's: relative paths in settings are those of its caller.
    cwd: process.cwd(),
    env: { ...MEMORY_SETTINGS, ...env },
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    readyTimeoutMs: READY_TIMEOUT_MS,
    probe: async () => undefined,
  }
}

async function isReady(baseUrl: string, signal: AbortSignal): Promise<void> {
  const response = await fetch(`${baseUrl}/readyz`, { signal })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`/readyz responded with ${response.status}`)
}

function listens(address: { host: string; port: number }, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ ...address, signal })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
  })
}
