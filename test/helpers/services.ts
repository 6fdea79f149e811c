import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { createRedis, type Redis, type RedisClientOptions } from '../../src/platform/redis/redis.ts'
import { prepareEmbeddedRedis } from '../../tools/launcher/embedded-redis.ts'
import { startProcessGuard } from '../../tools/launcher/processes/process-guard.ts'
import { spawnPlan } from '../../tools/launcher/processes/spawn-plan.ts'
import type { RedisProgram } from '../../tools/launcher/services/redis-program.ts'

export interface TestDatabase {
  url: string
  /** Drops the database, whoever is still connected. */
  drop(): Promise<void>
}

/** A fresh database with every migration applied: a copy of the run's template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const adminUrl = fromRunner('TEST_DATABASE_URL')
  const name = `test_${randomBytes(8).toString('hex')}`
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  await runAsAdmin(
    adminUrl,
    `CREATE DATABASE ${name} TEMPLATE ${fromRunner('TEST_DATABASE_TEMPLATE')} STRATEGY FILE_COPY`,
  )
  return { url: url.href, drop: () => runAsAdmin(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

export interface TestRedis {
  url: string
  /** A client, named `test`, that ends with the server; by default one that waits for it. */
  connect(mode?: RedisClientOptions['mode']): Redis
  /** Stops the server and removes its data. */
  close(): Promise<void>
  /** `kill -9`; the data stays for `restart`. */
  kill(): Promise<void>
  /** Stops it in its tracks, as a machine that hangs does, until `resume`. */
  pause(): void
  resume(): void
  /** Starts the server again, over the same data and at the same address. */
  restart(): Promise<void>
  /** Keeps a copy of what a durable server has on its disk by now. */
  keepState(): Promise<void>
  /** `kill -9`; what the disk had when it was kept is all that `restart` finds. */
  killAndRollBack(): Promise<void>
}

/**
 * A Redis server of the test's own: logical databases of one server would share its pub/sub channels.
 * @param options.durable keeps an append-only file, as in production, for tests that kill the server
 */
export async function createTestRedis(options: { durable?: boolean } = {}): Promise<TestRedis> {
  const program = JSON.parse(fromRunner('TEST_REDIS_PROGRAM')) as RedisProgram
  const folder = await mkdtemp(join(tmpdir(), 'shuntyard-redis-'))
  const redis = await prepareEmbeddedRedis({ program, folder, durable: options.durable ?? false })
  const guard = startProcessGuard()
  const start = () => spawnPlan(redis.plan, { onSpawn: (pid) => guard.add(pid, 'services') })
  let running = await start()
  const kill = async () => {
    await running.kill()
    guard.remove(running.pid)
  }
  const clients: Redis[] = []
  const [onDisk, kept] = ['appendonlydir', 'kept'].map((name) => join(folder, name)) as [string, string]
  return {
    url: redis.url,
    connect(mode = 'wait') {
      const client = createRedis({ url: redis.url, name: 'test', mode })
      clients.push(client)
      return client
    },
    async close() {
      for (const client of clients) client.disconnect()
      await running.stop()
      guard.close()
      await redis.cleanUp()
      await rm(folder, { recursive: true, force: true })
    },
    kill,
    keepState: () => cp(onDisk, kept, { recursive: true, force: true }),
    async killAndRollBack() {
      await kill()
      await rm(onDisk, { recursive: true })
      await rename(kept, onDisk)
    },
    pause: () => void process.kill(running.pid, 'SIGSTOP'),
    resume: () => void process.kill(running.pid, 'SIGCONT'),
    async restart() {
      running = await start()
    },
  }
}

async function runAsAdmin(adminUrl: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

function fromRunner(name: string): string {
  const value = process.env[name]
  if (!value)
    throw new Error(`${name} is not set: run tests with "npm test -- FILE", which brings the services up`)
  return value
}
