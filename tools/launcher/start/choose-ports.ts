import { claimPort, freePort, portIsFree } from '../services/free-port.ts'

const DEFAULT_PORT = 8080
const DEFAULT_METRICS_PORT = 9464

export interface Ports {
  api: number
  /** One for each process that has metrics. */
  metrics: { api: number; dispatch: number; settlement: number }
  simulatedProviders: number
  release: () => void
}

/**
 * A port that the environment names is used or refused; otherwise the usual one or the next that is free.
 * Throws when a named port is taken.
 */
export async function choosePorts(
  { host, metricsHost }: { host: string; metricsHost: string },
  environment: Record<string, string | undefined>,
): Promise<Ports> {
  const releases: Array<() => void> = []
  const claim = async (first: number, at: string) => {
    const claimed = await claimPort(first, at)
    releases.push(claimed.release)
    return claimed.port
  }
  const choose = async (name: string, usual: number, at: string) => {
    const named = environment[name]
    if (!named) return claim(usual, at)
    const port = Number(named)
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw new Error(`${name} is not a port: ${named}`)
    if (!(await portIsFree(port, at))) throw new Error(`${name} is ${port}, but something else listens there`)
    return port
  }
  const api = await choose('PORT', DEFAULT_PORT, host)
  const metrics = await choose('METRICS_PORT', DEFAULT_METRICS_PORT, metricsHost)
  const dispatch = await claim(metrics + 1, metricsHost)
  const settlement = await claim(dispatch + 1, metricsHost)
  return {
    api,
    metrics: { api: metrics, dispatch, settlement },
    simulatedProviders: await freePort(),
    release: () => {
      for (const release of releases) release()
    },
  }
}
