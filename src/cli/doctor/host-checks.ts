import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { totalmem } from 'node:os'
import { dirname, resolve } from 'node:path'
import { availableMemory, constrainedMemory } from 'node:process'
import { type Check, findings, ok, REQUEST_WITHIN_MS, warning, wrong } from './check.ts'

const NODE_MAJOR = 24
const GIGABYTE = 1024 ** 3
/** Memory of an API instance, as a multiple of BODY_BYTES_PER_INSTANCE. */
const MEMORY_PER_BODY_BYTE = 8
const MEMORY_FREE_MIN = GIGABYTE / 4

const gigabytes = (bytes: number): string => `${(bytes / GIGABYTE).toFixed(1)} GB`

export const HOST_CHECKS: Check[] = [
  {
    name: 'runtime',
    async run() {
      const { node } = process.versions
      const found = `Node ${node} on ${process.platform} ${process.arch}`
      return Number(node.split('.')[0]) >= NODE_MAJOR
        ? [ok(found)]
        : [wrong(found, 'the processes do not start', `install Node ${NODE_MAJOR} or newer`)]
    },
  },
  {
    name: 'memory',
    async run({ config: { bodyBytesPerInstance } }) {
      const needed = MEMORY_PER_BODY_BYTE * bodyBytesPerInstance
      const total = Math.min(totalmem(), constrainedMemory() || Number.POSITIVE_INFINITY)
      const free = availableMemory()
      const tooSmall = `an API instance is planned with ${gigabytes(needed)}, and this host or container has ${gigabytes(total)}`
      return findings(
        [
          total < needed &&
            warning(
              tooSmall,
              'large bodies can exhaust the memory, which ends the process and its calls',
              `BODY_BYTES_PER_INSTANCE=${Math.floor(total / MEMORY_PER_BODY_BYTE)}`,
            ),
          free < MEMORY_FREE_MIN &&
            warning(
              `${gigabytes(free)} are free`,
              'processes may be killed',
              'stop other programs, or add memory',
            ),
        ],
        `${gigabytes(free)} of ${gigabytes(total)} are free`,
      )
    },
  },
  {
    name: 'disk',
    async run({ config: { dataDir, storedFilesFreeDiskBytes, storedFilesS3Bucket } }) {
      const { bavail, bsize } = await statfs(existingFolder(resolve(dataDir)))
      const free = bavail * bsize
      return findings(
        [
          free < storedFilesFreeDiskBytes &&
            storedFilesS3Bucket === null &&
            wrong(
              `${gigabytes(free)} are free at ${dataDir}, less than STORED_FILES_FREE_DISK_BYTES`,
              'calls with files are refused with 503; embedded databases stop when the disk is full',
              `df -h ${dataDir}`,
            ),
        ],
        `${gigabytes(free)} are free at ${dataDir}`,
      )
    },
  },
  {
    name: 'ports',
    async run({ config: { host, port, metricsHost, metricsPort } }) {
      const places = [
        { variable: 'PORT', host, port, path: '/healthz' },
        { variable: 'METRICS_PORT', host: metricsHost, port: metricsPort, path: '/metrics' },
      ]
      return Promise.all(places.filter((place) => place.port !== 0).map(checkPort))
    },
  },
]

/** The nearest folder above a path that exists. */
const existingFolder = (path: string): string => (existsSync(path) ? path : existingFolder(dirname(path)))

async function checkPort(place: { variable: string; host: string; port: number; path: string }) {
  const { variable, host, port, path } = place
  const code = await listenFailure(host, port)
  if (code === null) return ok(`${variable} ${port} is free`)
  if (code !== 'EADDRINUSE')
    return wrong(
      `${variable} ${port} cannot be opened: ${code}`,
      'the process does not start',
      `${variable}=8080`,
    )
  if (await isOurs(host, port, path)) return ok(`${variable} ${port} is used by a running gateway`)
  return warning(
    `${variable} ${port} is used by another program`,
    'a process with this setting does not start; npm start takes the next free port',
    `ss -ltnp 'sport = :${port}'`,
  )
}

function listenFailure(host: string, port: number): Promise<string | null> {
  return new Promise((settle) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message))
    server.listen({ host, port }, () => server.close(() => settle(null)))
  })
}

/** Whether one of our processes answers at a port. */
async function isOurs(host: string, port: number, path: string): Promise<boolean> {
  const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  try {
    const answer = await fetch(`http://${address.includes(':') ? `[${address}]` : address}:${port}${path}`, {
      signal: AbortSignal.timeout(REQUEST_WITHIN_MS),
    })
    const text = await answer.text()
    return text === '{"status":"ok"}' || text.includes('shuntyard_')
  } catch {
    // Another program, which speaks no HTTP or does not answer.
    return false
  }
}
