import { Gauge, type Registry } from 'prom-client'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import type { Redis } from '../redis/redis.ts'
import { type Queues, readQueues } from './queue-stats.ts'

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const
/** A shard that does not answer within this has no value in a scrape. */
const TIMEOUT_MS = 2_000

/**
 * Registers gauges of every queue, read at each scrape. Every settlement process reports the same values: take the
 * maximum by shard.
 */
export function createQueueGauges(registry: Registry, redis: Redis, queues: Queues): void {
  const once = createSingleFlight()
  const read = () =>
    once('queues', () =>
      readQueues(redis, queues, Date.now(), TIMEOUT_MS).then(
        ({ data }) => data,
        // With Redis away the gauges stay empty.
        () => [],
      ),
    )
  new Gauge({
    name: 'shuntyard_queue_jobs',
    help: 'Jobs by queue, shard and state.',
    labelNames: ['queue', 'shard', 'state'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { name: queue, shard, ...counts } of await read())
        for (const state of STATES) this.set({ queue, shard, state }, counts[state])
    },
  })
  new Gauge({
    name: 'shuntyard_settlement_lag_seconds',
    help: 'How long the oldest finished call of a shard has waited for its charge.',
    labelNames: ['shard'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { name, shard, oldest_waiting_ms: oldestMs } of await read())
        if (name === 'settlement') this.set({ shard }, (oldestMs ?? 0) / 1000)
    },
  })
}
