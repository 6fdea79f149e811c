import { createServer } from 'node:net'
import getPort from 'get-port'

export const DEFAULT_PORT = 8080
const DEFAULT_METRICS_PORT = 9464
const PORTS_TRIED = 200

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

/** A port that nothing listens on at this moment, chosen by the system. */
export const freePort = (): Promise<number> => getPort({ host: '127.0.0.1' })

/** True when a server could listen there now. */
const portIsFree = async (port: number, host: string) => (await getPort({ port, host })) === port

/**
 * The first free port from `first` on, claimed for this process: between choosing a port and a child's
 * listening on it, another copy of the project that starts at the same time, whatever its user, leaves it alone.
 */
async function claimPort(first: number, host: string): Promise<{ port: number; release: () => void }> {
  for (let port = first; port < Math.min(first + PORTS_TRIED, 65_536); port++) {
    const release = await claim(port)
    if (!release) continue
    if (await portIsFree(port, host)) return { port, release }
    release()
  }
  throw new Error(`no free port from ${first} on at ${host}`)
}

/**
 * Holds a name in Linux's abstract socket namespace: it spans exactly what ports span, all users and no other
 * container, and vanishes with the process. Elsewhere there is nothing alike, and ports are only looked at.
 */
function claim(port: number): Promise<(() => void) | null> {
  if (process.platform !== 'linux') return Promise.resolve(() => undefined)
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null)
      else reject(error)
    })
    server.listen(`\0shuntyard-port-${port}`, () => {
      server.unref()
      resolve(() => void server.close())
    })
  })
}
