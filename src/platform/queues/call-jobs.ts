import { readFileSync } from 'node:fs'
import { defineScript, type Redis } from '../redis/redis.ts'
import { QUEUE_PREFIX } from '../redis/redis-keys.ts'
import { DISPATCH_QUEUE } from './queues.ts'

/**
 * What became of a wish to take a call off the queue. Only `withdrawn` says that no worker ever had it and that
 * none will; `claimed`: a worker has it or had it; `delayed`: it stands for a call that a worker runs.
 */
export type Withdrawal = 'withdrawn' | 'missing' | 'claimed' | 'delayed'

/** Steps on the jobs of the dispatch queue that BullMQ does not offer, each one atomic. */
export interface CallJobs {
  /** Takes a call off the queue if it waits for its first claim. */
  withdraw(callId: string): Promise<Withdrawal>
  /** Takes a revived call off the queue (see reviveCall), unless a worker has claimed it since. */
  removeRevived(callId: string): Promise<Withdrawal>
  /** Renews a claim whose lock has lapsed; false when somebody else claimed the call since. */
  retake(callId: string, claim: { token: string; number: number; lockMs: number }): Promise<boolean>
  /** Whether a call has a job, in whatever state. */
  exists(callId: string): Promise<boolean>
}

const WITHDRAW = readFileSync(new URL('./withdraw-call.lua', import.meta.url), 'utf8')
const RETAKE = readFileSync(new URL('./retake-call.lua', import.meta.url), 'utf8')

/** The steps over one client. BullMQ's key layout: `<prefix>:<queue>:<list, or job id>`. */
export function createCallJobs(redis: Redis): CallJobs {
  const withdraw = defineScript(redis, 'syWithdrawCall', WITHDRAW)
  const retake = defineScript(redis, 'syRetakeCall', RETAKE)
  const key = (name: string) => `${QUEUE_PREFIX}:${DISPATCH_QUEUE}:${name}`
  const takeOff = async (callId: string, takesRevived: '0' | '1') => {
    const keys = [key(callId), key('wait'), key('paused'), key('prioritized'), key('delayed')]
    return (await withdraw(keys, [callId, takesRevived])) as Withdrawal
  }
  return {
    withdraw: (callId) => takeOff(callId, '0'),
    removeRevived: (callId) => takeOff(callId, '1'),
    async retake(callId, { token, number, lockMs }) {
      const lists = ['active', 'wait', 'stalled', 'prioritized'].map(key)
      const keys = [key(callId), key(`${callId}:lock`), ...lists]
      return (await retake(keys, [callId, token, lockMs, number])) === 1
    },
    exists: async (callId) => (await redis.exists(key(callId))) === 1,
  }
}
