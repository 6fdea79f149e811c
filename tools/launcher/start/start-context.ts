import { mkdirSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createDatabase, prepareEmbeddedPostgres } from '../embedded-postgres.ts'
import { prepareEmbeddedRedis } from '../embedded-redis.ts'
import type { GuardRank, ProcessGuard } from '../processes/process-guard.ts'
import { keepOutput } from '../processes/process-output.ts'
import type { ProcessPlan } from '../processes/spawn-plan.ts'
import { type Supervised, supervise } from '../processes/supervise.ts'
import { cacheFolders } from '../services/debian-package.ts'
import { prepareLocalModel, wantsLocalModel } from '../services/local-model.ts'
import { findRedisProgram } from '../services/redis-program.ts'

/** What every step of the all-in-one start needs. */
export type StartContext = ReturnType<typeof createStartContext>

/** Builds the context. `signal` aborted means that nothing more may be started. */
export function createStartContext(options: {
  root: string
  dataDir: string
  environment: Record<string, string | undefined>
  guard: ProcessGuard
  signal: AbortSignal
}) {
  const { root, dataDir, environment, guard, signal } = options
  const logsFolder = join(dataDir, 'logs')
  mkdirSync(logsFolder, { recursive: true, mode: 0o700 })
  // A step that shows its progress in place has left its line open; it draws the line again.
  const clear = process.stdout.isTTY && process.stderr.isTTY ? '\r\u001b[2K' : ''
  const log = (line: string): void => void process.stdout.write(`${clear}  ${line}\n`)
  const running: Supervised[] = []
  const run = async (plan: ProcessPlan, rank: GuardRank): Promise<void> => {
    signal.throwIfAborted()
    const onOutput = keepOutput(plan, logsFolder)
    const supervised = supervise(plan, { guard, rank, onOutput, log })
    running.push(supervised)
    await supervised.ready
  }
  return {
    root,
    dataDir,
    logsFolder,
    environment,
    signal,
    /** Prints a line for a person. */
    log,
    /** Starts a process, keeps it running, and keeps its output in `logs/<name>.log`. */
    run,
    /** Everything that runs, in the order it was started. */
    running,
  }
}

/** Where the database is: the one DATABASE_URL names, else an embedded one, started and kept running. */
export async function startDatabase({ dataDir, environment, log, run }: StartContext): Promise<string> {
  if (environment.DATABASE_URL) {
    log('using the PostgreSQL of DATABASE_URL')
    return environment.DATABASE_URL
  }
  const postgres = await prepareEmbeddedPostgres({ dataDir, durable: true, log })
  await run(postgres.plan, 'services')
  await createDatabase(postgres.adminUrl, postgres.url)
  log('PostgreSQL is ready')
  return postgres.url
}

/** Where Redis is: the one REDIS_URL names, else an embedded one, started and kept running. */
export async function startRedis({ dataDir, environment, log, run }: StartContext): Promise<string> {
  if (environment.REDIS_URL) {
    log('using the Redis of REDIS_URL')
    return environment.REDIS_URL
  }
  const program = await findRedisProgram(cacheFolders(dataDir, environment), log)
  const folder = join(dataDir, 'redis')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const redis = await prepareEmbeddedRedis({ program, folder, durable: true })
  await run(redis.plan, 'services')
  log('Redis is ready')
  return redis.url
}

/**
 * The address of the model that `LOCAL_MODEL=1` asks for, installed, started and kept running. Null without, and where it
 * cannot be had: everything else works without it.
 */
export async function startLocalModel(context: StartContext): Promise<string | null> {
  const { dataDir, environment, log, run, signal } = context
  if (!wantsLocalModel(environment)) return null
  try {
    const model = await prepareLocalModel(dataDir, environment)
    await run(model.plan, 'sessions')
    log('the local model is ready')
    return model.url
  } catch (error) {
    signal.throwIfAborted()
    log(`the local model does not run, the rest works without it: ${(error as Error).message}`)
    return null
  }
}

/** PostgreSQL and Redis: what the others need until their own end. */
const SERVICES = new Set(['postgres', 'redis'])

/**
 * Stops everything, each part within its own limit: the API, then the dispatch workers, then settlement,
 * which records what those finished, then what all of them needed.
 */
export async function stopAll({ running, log }: StartContext, reason: string): Promise<void> {
  if (running.length === 0) return
  log(`stopping (${reason}) …`)
  const gateway = running.filter(({ name }) => !SERVICES.has(name))
  for (const part of gateway.reverse()) await part.stop()
  await Promise.all(running.filter(({ name }) => SERVICES.has(name)).map((service) => service.stop()))
  log('stopped; the data is kept')
}
