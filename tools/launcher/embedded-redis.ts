import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './ports.ts'
import type { ProcessPlan } from './processes/spawn-plan.ts'
import { clearFormerServer } from './processes/stop-orphan.ts'
import type { RedisProgram } from './services/redis-program.ts'

/** The kernel allows 107 bytes for a socket's path. */
const SOCKET_PATH_LIMIT = 100
const READY_TIMEOUT_MS = 60_000
const STOPPING = { stopSignal: 'SIGTERM', stopTimeoutMs: 10_000 } as const
const CONFIG_NAME = 'redis.conf'
const CONTAINER_DATA = '/data'

export interface EmbeddedRedisOptions {
  program: RedisProgram
  /** Keeps the append-only file. Must exist. */
  folder: string
  /** False for throwaway data: no append-only file. */
  durable: boolean
  /** Listens on a loopback port besides its socket, where any user of the machine may connect. */
  tcp?: boolean
}

export interface EmbeddedRedis {
  plan: ProcessPlan
  /** `unix:///…` where the server shares our file system, else `redis://…` with a password. */
  url: string
  /** `redis://127.0.0.1:…`; null where it listens on its socket alone. */
  tcpUrl: string | null
  /** Removes the socket's folder. */
  cleanUp: () => Promise<void>
}

/**
 * Makes a Redis server ready to run on a Unix socket that only its user may open: a client of it can give accounts
 * a balance. In a container it listens on a loopback port, behind a password.
 */
export async function prepareEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const common = {
    name: 'redis',
    cwd: options.folder,
    ...STOPPING,
    readyTimeoutMs: READY_TIMEOUT_MS,
  } as const
  if (options.program.kind === 'docker') {
    const port = await freePort()
    const password = randomBytes(24).toString('hex')
    const plan: ProcessPlan = {
      ...common,
      ...(await dockerCommand(options.program.image, options, port, password)),
      probe: (signal) => ping({ host: '127.0.0.1', port }, password, signal),
    }
    const url = `redis://:${password}@127.0.0.1:${port}`
    return { plan, url, tcpUrl: url, cleanUp: async () => undefined }
  }
  const { command, libraryPath } = options.program
  const socketFolder = await privateSocketFolder(options.folder)
  const socket = join(socketFolder, 'redis.sock')
  const config = join(options.folder, CONFIG_NAME)
  const port = options.tcp ? await freePort() : 0
  await writeFile(
    config,
    settings({ ...options, port, bind: '127.0.0.1', dataFolder: options.folder, socket, password: null }),
    { mode: 0o600 },
  )
  const plan: ProcessPlan = {
    ...common,
    command,
    args: [config],
    env: { PATH: process.env.PATH, ...(libraryPath && { LD_LIBRARY_PATH: libraryPath }) },
    prepare: () => clearFormerServer(join(options.folder, 'redis.pid'), config, STOPPING),
    probe: (signal) => ping({ path: socket }, null, signal),
  }
  const cleanUp = async () => {
    if (socketFolder !== options.folder) await rm(socketFolder, { recursive: true, force: true })
  }
  return { plan, url: `unix://${socket}`, tcpUrl: port === 0 ? null : `redis://127.0.0.1:${port}`, cleanUp }
}

interface Settings {
  /** 0: none. */
  port: number
  bind: string
  dataFolder: string
  socket: string | null
  password: string | null
  durable: boolean
}

/** `noeviction` because balances and jobs live here; `everysec` as the documented default for durability. */
function settings({ port, bind, dataFolder, socket, password, durable }: Settings): string {
  return [
    `bind ${bind}`,
    `port ${port}`,
    ...(socket ? [`unixsocket "${socket}"`, 'unixsocketperm 700', `pidfile "${dataFolder}/redis.pid"`] : []),
    `dir "${dataFolder}"`,
    `appendonly ${durable ? 'yes' : 'no'}`,
    'appendfsync everysec',
    'save ""',
    'maxmemory-policy noeviction',
    'client-output-buffer-limit pubsub 256mb 128mb 60',
    'daemonize no',
    'tcp-backlog 511',
    // The process keeps the command line by which a left-over server is recognized.
    'set-proc-title no',
    ...(password ? [`requirepass ${password}`] : []),
    '',
  ].join('\n')
}

/** The data folder if the path is short enough for a socket, else a folder of our own in the temporary folder. */
async function privateSocketFolder(folder: string): Promise<string> {
  if (Buffer.byteLength(join(folder, 'redis.sock')) < SOCKET_PATH_LIMIT) return folder
  return mkdtemp(join(tmpdir().length < SOCKET_PATH_LIMIT / 2 ? tmpdir() : '/tmp', 'shuntyard-redis-'))
}

async function dockerCommand(image: string, options: EmbeddedRedisOptions, port: number, password: string) {
  const data = join(options.folder, 'docker')
  await mkdir(data, { recursive: true })
  await writeFile(
    join(data, CONFIG_NAME),
    settings({
      port: 6379,
      bind: '0.0.0.0',
      dataFolder: CONTAINER_DATA,
      socket: null,
      password,
      durable: options.durable,
    }),
    { mode: 0o600 },
  )
  const user = process.getuid ? ['--user', `${process.getuid()}:${process.getgid?.() ?? 0}`] : []
  const args = [
    'run',
    '--rm',
    '--init',
    ...user,
    '-p',
    `127.0.0.1:${port}:6379`,
    '-v',
    `${data}:${CONTAINER_DATA}`,
  ]
  return {
    command: 'docker',
    args: [...args, image, 'redis-server', `${CONTAINER_DATA}/${CONFIG_NAME}`],
    env: process.env,
  }
}

/** Resolves when the server responds with PONG; while it loads its file it responds with an error. */
function ping(
  address: { host: string; port: number } | { path: string },
  password: string | null,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(address)
    const fail = (reason: unknown) => {
      socket.destroy()
      reject(reason)
    }
    signal.addEventListener('abort', () => fail(signal.reason), { once: true })
    socket.once('error', fail)
    socket.once('connect', () => socket.write(`${password ? `AUTH ${password}\r\n` : ''}PING\r\n`))
    socket.once('data', (chunk) => {
      if (!/^(?:\+OK\r\n)?\+PONG/.test(chunk.toString())) return fail(new Error(chunk.toString().trim()))
      socket.destroy()
      resolve()
    })
  })
}
