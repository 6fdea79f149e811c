import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRunning } from './bootstrap/process-lock.mjs'
import type { ProcessPlan } from './processes/process-plan.ts'
import { processMentions, stopOrphan } from './processes/stop-orphan.ts'
import { freePort } from './services/free-port.ts'
import type { RedisProgram } from './services/redis-program.ts'

/** The kernel allows 107 bytes for a socket's path. */
const SOCKET_PATH_LIMIT = 100
const READY_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 10_000
const CONFIG_NAME = 'redis.conf'
const CONTAINER_DATA = '/data'

export interface EmbeddedRedisOptions {
  program: RedisProgram
  /** Keeps the append-only file. Must exist. */
  folder: string
  /** False for throwaway data: no append-only file. */
  durable: boolean
}

export interface EmbeddedRedis {
  plan: ProcessPlan
  /** `unix:///…` where the server shares our file system, else `redis://…`. */
  url: string
  /** Always `redis://127.0.0.1:…`. */
  tcpUrl: string
  /** Removes the socket's folder. */
  cleanUp: () => Promise<void>
}

/** Makes a Redis server ready to run on a free loopback port and a private Unix socket. */
export async function prepareEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const port = await freePort()
  const tcpUrl = `redis://127.0.0.1:${port}`
  const common = {
    name: 'redis',
    cwd: options.folder,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    readyTimeoutMs: READY_TIMEOUT_MS,
    probe: (signal: AbortSignal) => ping(port, signal),
  } as const
  if (options.program.kind === 'docker') {
    const plan = { ...common, ...(await dockerCommand(options.program.image, options, port)) }
    return { plan, url: tcpUrl, tcpUrl, cleanUp: async () => undefined }
  }
  const { command, libraryPath } = options.program
  const socketFolder = await privateSocketFolder(options.folder)
  const socket = join(socketFolder, 'redis.sock')
  const config = join(options.folder, CONFIG_NAME)
  await writeFile(
    config,
    settings({ ...options, port, bind: '127.0.0.1', dataFolder: options.folder, socket }),
  )
  const plan: ProcessPlan = {
    ...common,
    command,
    args: [config],
    env: { PATH: process.env.PATH, ...(libraryPath && { LD_LIBRARY_PATH: libraryPath }) },
    prepare: () => clearFormerServer(options.folder, config),
  }
  const cleanUp = async () => {
    if (socketFolder !== options.folder) await rm(socketFolder, { recursive: true, force: true })
  }
  return { plan, url: `unix://${socket}`, tcpUrl, cleanUp }
}

interface Settings {
  port: number
  bind: string
  dataFolder: string
  socket: string | null
  durable: boolean
}

/** `noeviction` because balances and jobs live here; `everysec` as the documented default for durability. */
function settings({ port, bind, dataFolder, socket, durable }: Settings): string {
  return [
    `bind ${bind}`,
    `port ${port}`,
    ...(socket ? [`unixsocket "${socket}"`, 'unixsocketperm 700', `pidfile "${dataFolder}/redis.pid"`] : []),
    `dir "${dataFolder}"`,
    `appendonly ${durable ? 'yes' : 'no'}`,
    'appendfsync everysec',
    'save ""',
    'maxmemory-policy noeviction',
    'daemonize no',
    'tcp-backlog 511',
    // The process keeps the command line by which a left-over server is recognized.
    'set-proc-title no',
    ...(socket ? [] : ['protected-mode no']),
    '',
  ].join('\n')
}

/** The data folder if the path is short enough for a socket, else a folder of our own in the temporary folder. */
async function privateSocketFolder(folder: string): Promise<string> {
  if (Buffer.byteLength(join(folder, 'redis.sock')) < SOCKET_PATH_LIMIT) return folder
  return mkdtemp(join(tmpdir().length < SOCKET_PATH_LIMIT / 2 ? tmpdir() : '/tmp', 'switchyard-redis-'))
}

async function dockerCommand(image: string, options: EmbeddedRedisOptions, port: number) {
  const data = join(options.folder, 'docker')
  await mkdir(data, { recursive: true })
  await writeFile(
    join(data, CONFIG_NAME),
    settings({
      port: 6379,
      bind: '0.0.0.0',
      dataFolder: CONTAINER_DATA,
      socket: null,
      durable: options.durable,
    }),
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

/** The caller holds the data folder's lock, so a server that still runs over it is an orphan. */
async function clearFormerServer(folder: string, config: string): Promise<void> {
  const pidFile = join(folder, 'redis.pid')
  if (!existsSync(pidFile)) return
  const pid = Number((await readFile(pidFile, 'utf8')).trim())
  if (isRunning(pid, '') && processMentions(pid, config)) await stopOrphan(pid, 'SIGTERM', STOP_TIMEOUT_MS)
  await rm(pidFile, { force: true })
}

/** Resolves when the server answers PONG; while it loads its file it answers an error instead. */
function ping(port: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    const fail = (reason: unknown) => {
      socket.destroy()
      reject(reason)
    }
    signal.addEventListener('abort', () => fail(signal.reason), { once: true })
    socket.once('error', fail)
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (chunk) => {
      if (!chunk.toString().startsWith('+PONG')) return fail(new Error(chunk.toString().trim()))
      socket.destroy()
      resolve()
    })
  })
}
