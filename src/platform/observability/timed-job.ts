import { Gauge, type Registry } from 'prom-client'
import type { Job } from '../redis/fleet-job.ts'
import type { Logger } from './logger.ts'

/** Measures the runs of scheduled jobs; returns what wraps a job's `run`. */
export function createTimedJob(registry: Registry, logger: Logger) {
  const duration = new Gauge({
    name: 'shuntyard_job_duration_seconds',
    help: 'Duration of the last run of a scheduled job in this process.',
    // Not `job`, which is Prometheus's own name of what it scrapes.
    labelNames: ['name', 'shard'],
    registers: [registry],
  })

  /** @param slowMs a run longer than this raises an alarm; null: none does */
  return ({ name, shard, run }: Pick<Job, 'name' | 'run'> & { shard?: number }, slowMs: number | null) =>
    async (stopping: AbortSignal): Promise<void> => {
      const startedAt = performance.now()
      try {
        await run(stopping)
      } finally {
        const durationMs = Math.round(performance.now() - startedAt)
        duration.set({ name, shard: shard ?? 0 }, durationMs / 1000)
        if (slowMs !== null && durationMs > slowMs) {
          const subject = shard ? `${name} ${shard}` : name
          logger.warn({ alarm: 'job-slow', subject, durationMs, slowMs }, 'scheduled job was slow')
        }
      }
    }
}
