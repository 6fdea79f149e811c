import type { Redis } from '../redis/redis.ts'
import { shardNumbers } from '../redis/redis-keys.ts'
import { type CallJobs, createCallJobs } from './call-jobs.ts'
import {
  createDispatchQueue,
  createSettlementQueue,
  type DispatchQueue,
  type SettlementQueue,
} from './queues.ts'

export interface CallQueues {
  shard: number
  dispatch: DispatchQueue
  settlement: SettlementQueue
  callJobs: CallJobs
}

/** Opens the queues of the calls of each shard, in their order. The caller closes them. */
export const openCallQueues = (redis: Redis): CallQueues[] =>
  shardNumbers(redis).map((shard) => ({
    shard,
    dispatch: createDispatchQueue(redis, shard),
    settlement: createSettlementQueue(redis, shard),
    callJobs: createCallJobs(redis, shard),
  }))

export async function closeCallQueues(queues: readonly CallQueues[]): Promise<void> {
  await Promise.all(queues.flatMap(({ dispatch, settlement }) => [dispatch.close(), settlement.close()]))
}
