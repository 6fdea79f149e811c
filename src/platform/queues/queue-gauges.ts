import { Gauge, type Registry } from 'prom-client'
import { withTimeout } from '../process/with-timeout.ts'
import type { Redis } from '../redis/redis.ts'
import { type Queues, readQueues } from './queue-stats.ts'

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const
/** A scrape that cannot be answered within this leaves the gauges empty. */
const TIMEOUT_MS = 2_000

/** Registers gauges of every queue, read at each scrape. Every settlement process reports the same values: take the maximum. */
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
