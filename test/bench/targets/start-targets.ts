import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../../tools/launcher/ports.ts'
import type { ProcessGuard } from '../../../tools/launcher/processes/process-guard.ts'
import { spawnPlan } from '../../../tools/launcher/processes/spawn-plan.ts'
import { simulatedProvidersPlan } from '../../../tools/launcher/start/gateway-plans.ts'
import { benchCatalog, COMPLETIONS_PATH } from '../bench-catalog.ts'
import type { BenchOptions, Peer } from '../bench-options.ts'
import { startGateway } from './gateway.ts'
import { startRelay } from './relay.ts'
import type { Target } from './target.ts'

const ROOT = join(import.meta.dirname, '../../..')

export interface StartedTargets {
  direct: Target
  /** This checkout. */
  subject: Target
  /** Those two, the relay and all that the options name. */
  targets: Target[]
  providerPid: number
  stop(): Promise<void>
}

/** Starts the provider and everything that stands in front of it. */
export async function startTargets(
  options: Pick<BenchOptions, 'peers' | 'against' | 'isAllInOne' | 'providerPort'>,
  guard: ProcessGuard,
  log: (line: string) => void,
): Promise<StartedTargets> {
  const providerPort = options.providerPort ?? (await freePort())
  const plan = simulatedProvidersPlan(ROOT, process.env, providerPort)
  const provider = await spawnPlan(plan, { onSpawn: (pid) => guard.add(pid, 'services') })
  const origin = `http://127.0.0.1:${providerPort}`
  const direct: Target = {
    name: 'direct',
    url: `${origin}${COMPLETIONS_PATH}`,
    headers: {},
    processes: new Map(),
    stop: () => provider.stop(),
  }
  const targets = [direct]
  const stop = async () => {
    for (const target of targets.toReversed()) await target.stop()
  }
  const start = async (target: Promise<Target>) => {
    targets.push(await target)
    return targets.at(-1)!
  }
  const gateway = async (name: string, root: string, isOneProcess = false) => {
    log(`starting ${name} of ${root} …`)
    await access(join(root, 'node_modules')).catch(() => {
      throw new Error(`the packages of ${root} are not installed: run "npm ci" there`)
    })
    return startGateway({ name, root, catalog: benchCatalog(providerPort), isOneProcess, guard, log })
  }
  try {
    await start(startRelay(origin))
    const subject = await start(gateway('shuntyard', ROOT))
    if (options.isAllInOne) await start(gateway('all in one', ROOT, true))
    if (options.against !== null) await start(gateway('against', options.against))
    targets.push(...options.peers.map(peerTarget))
    return { direct, subject, targets, providerPid: provider.pid, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A gateway that somebody else has started and will stop. */
export const peerTarget = ({ name, url, headers, pid }: Peer): Target => ({
  name,
  url,
  headers,
  processes: new Map(pid === null ? [] : [[name, pid]]),
  stop: async () => undefined,
})
