/** Throwaway processes on loopback: PostgreSQL, Redis, and whatever an adapter starts. All die with the bench. */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pause } from './client.mjs'

const READY_MS = 600_000
const running = new Set()
const folders = []
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(1))
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

export async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

export function folder() {
  const path = mkdtempSync(join(tmpdir(), 'money-bench-'))
  folders.push(path)
  return path
}

export const answers = (url) =>
  fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  )

const listens = (port) =>
  new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('close', () => socket.destroy())
    setTimeout(() => socket.destroy(), 500)
  })

export async function until(check, what) {
  const end = Date.now() + READY_MS
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`${what} is not ready`)
    await pause(300)
  }
}

/** A process that can be killed by SIGKILL and started again with the same command. */
export function part({ name, command, args, env, cwd, ids = {}, isReady }) {
  let child
  const start = async () => {
    const log = process.env.MONEY_BENCH_LOG ? 'inherit' : 'ignore'
    child = spawn(command, args, {
      env: { ...process.env, ...env },
      cwd,
      stdio: ['ignore', log, log],
      ...ids,
    })
    running.add(child)
    const ended = new Promise((_, reject) =>
      child.once('exit', (code) => {
        running.delete(child)
        reject(new Error(`${name} ended with ${code}`))
      }),
    )
    child.once('error', (error) => process.stderr.write(`${error.message}\n`))
    await Promise.race([until(isReady, name), ended])
    ended.catch(() => undefined)
  }
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
  return { name, start, kill, ready: () => until(isReady, name) }
}

/** PostgreSQL by the folder of its programs; as root it runs as the user `postgres`. `template`: a cluster to copy. */
export async function postgres(programs, template) {
  const isRoot = process.getuid?.() === 0
  const idOf = (flag) => Number(execFileSync('id', [flag, 'postgres']).toString())
  const ids = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {}
  const data = join(folder(), 'data')
  const own = (path) => isRoot && chownSync(path, ids.uid, ids.gid)
  own(join(data, '..'))
  if (template) {
    cpSync(template, data, { recursive: true })
    chmodSync(data, 0o700)
    rmSync(join(data, 'postmaster.pid'), { force: true })
    if (isRoot) execFileSync('chown', ['-R', 'postgres', data])
  } else {
    mkdirSync(data)
    own(data)
    execFileSync(join(programs, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust'], {
      ...ids,
      cwd: '/',
      stdio: 'ignore',
    })
  }
  const port = await freePort()
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
  ]
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
  const server = part({
    name: 'postgres',
    command: join(programs, 'postgres'),
    args,
    cwd: '/',
    ids,
    isReady: () => listens(port),
  })
  await server.start()
  return { ...server, url: (database = 'postgres') => `postgresql://postgres@127.0.0.1:${port}/${database}` }
}

/** Redis by its program, with an append-only file that is synced before it answers. */
export async function redis(program) {
  const port = await freePort()
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder(),
    '--appendonly',
    'yes',
    '--appendfsync',
    'always',
    '--maxmemory-policy',
    'noeviction',
  ]
  const server = part({ name: 'redis', command: program, args, isReady: () => listens(port) })
  await server.start()
  return { ...server, port, url: `redis://127.0.0.1:${port}` }
}

/** Kills parts together; resolves with what starts them again. */
export async function killAll(parts) {
  await Promise.all(parts.map(({ kill }) => kill()))
  return () => Promise.all(parts.map((each) => each.start()))
}
