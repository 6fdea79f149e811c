import { Gauge, type Registry } from 'prom-client'
import { withTimeout } from '../src/platform/process/with-timeout.ts'
import { type Queues, readQueues } from '../src/platform/queues/queue-stats.ts'
import type { Redis } from '../src/platform/redis/redis.ts'

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const
/** A scrape that cannot be answered within this leaves the gauges empty. */
const TIMEOUT_MS = 2_000

/** What the queues hold, read when Prometheus asks. Every settlement process reports the same: take the maximum. */
export function createQueueGauges(registry: Registry, redis: Redis, queues: Queues): void {
  const lag = new Gauge({
    name: 'switchyard_settlement_lag_seconds',
    help: 'How long the oldest finished call has waited for its charge.',
    registers: [registry],
  })
  new Gauge({
    name: 'switchyard_queue_jobs',
    help: 'Jobs by queue and state.',
    labelNames: ['queue', 'state'],
    registers: [registry],
    async collect() {
      this.reset()
      lag.reset()
      // With Redis away the gauges stay empty.
      const stats = await withTimeout(readQueues(redis, queues, Date.now()), TIMEOUT_MS, [])
      for (const queue of stats) {
        for (const state of STATES) this.set({ queue: queue.name, state }, queue[state])
        if (queue.name === 'settlement') lag.set((queue.oldest_waiting_ms ?? 0) / 1000)
      }
    },
  })
}
