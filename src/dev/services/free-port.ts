import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { tryLock } from '../bootstrap/process-lock.mjs'

const PORTS_TRIED = 200

/** A port that nothing listens on at this moment, chosen by the system. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const port = await listenOnce(0, host)
  if (port === null) throw new Error(`no free port on ${host}`)
  return port
}

/** True when a server could listen there now. */
export async function portIsFree(port: number, host: string): Promise<boolean> {
  return (await listenOnce(port, host)) !== null
}

export interface ClaimedPort {
  port: number
  release: () => void
}

/**
 * The first free port from `first` on, claimed for this process by a lock file: between choosing a port and
 * a child's listening on it, a second copy of the project that starts at the same time leaves it alone.
 */
export async function claimPort(first: number, host: string): Promise<ClaimedPort> {
  for (let port = first; port < Math.min(first + PORTS_TRIED, 65_536); port++) {
    const lock = tryLock(join(tmpdir(), `switchyard-ports-${userInfo().uid}`, `${port}.lock`))
    if (!lock.acquired) continue
    if (await portIsFree(port, host)) return { port, release: lock.release }
    lock.release()
  }
  throw new Error(`no free port from ${first} on at ${host}`)
}

function listenOnce(port: number, host: string): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(null)
      else reject(error)
    })
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : null))
    })
  })
}
