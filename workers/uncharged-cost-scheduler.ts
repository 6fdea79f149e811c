import {
  type LimitUnchargedCostDependencies,
  limitUnchargedCost,
} from '../src/operations/limit-uncharged-cost.ts'
import { type FleetJob, runOnOneProcess } from '../src/platform/redis/fleet-job.ts'
import type { Redis } from '../src/platform/redis/redis.ts'

const EVERY_MS = 10_000

/** Compares what accounts cost and pay every ten seconds, on one process of the fleet. */
export function startUnchargedCostScheduler(
  options: LimitUnchargedCostDependencies & { redis: Redis },
): FleetJob {
  const { redis, logger } = options
  return runOnOneProcess({
    redis,
    name: 'uncharged-cost',
    everyMs: EVERY_MS,
    run: () => limitUnchargedCost(options),
    onFailure: (error) => logger.warn({ err: error }, 'uncharged provider cost cannot be compared right now'),
  })
}
