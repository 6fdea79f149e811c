import { createServer } from 'node:net'

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
 * The first free port from `first` on, claimed for this process: between choosing a port and a child's
 * listening on it, another copy of the project that starts at the same time, whoever runs it, leaves it alone.
 */
export async function claimPort(first: number, host: string): Promise<ClaimedPort> {
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
    server.listen(`\0switchyard-port-${port}`, () => {
      server.unref()
      resolve(() => void server.close())
    })
  })
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
