import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createDatabase, prepareEmbeddedPostgres } from '../embedded-postgres.ts'
import { prepareEmbeddedRedis } from '../embedded-redis.ts'
import { cacheFolders } from '../services/cache-folders.ts'
import { findRedisProgram } from '../services/redis-program.ts'
import type { StartContext } from './start-context.ts'

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
