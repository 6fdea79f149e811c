import type { StartContext } from './start-context.ts'

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
