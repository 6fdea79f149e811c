import { Queue } from 'bullmq'
import type { CallEnvelope, CallJob, SettlementRecord } from '../core/call-job.ts'
import { newId } from '../core/ids.ts'
import type { Redis } from './redis.ts'
import { QUEUE_PREFIX } from './redis-keys.ts'

export const DISPATCH_QUEUE = 'dispatch'
export const SETTLEMENT_QUEUE = 'settlement'

export type DispatchQueue = Queue<CallJob>
/** One job settles many calls. */
export interface SettlementJob {
  records: SettlementRecord[]
}

export type SettlementQueue = Queue<SettlementJob>

/** The queue of calls waiting for a dispatch worker. Jobs vanish on completion: a prompt rests nowhere. */
export function createDispatchQueue(connection: Redis): DispatchQueue {
  return withoutOutcry(new Queue(DISPATCH_QUEUE, { connection, prefix: QUEUE_PREFIX }))
}

/** The queue of finished calls waiting to be charged. */
export function createSettlementQueue(connection: Redis): SettlementQueue {
  return withoutOutcry(new Queue(SETTLEMENT_QUEUE, { connection, prefix: QUEUE_PREFIX }))
}

/** BullMQ repeats every error of the client on the console; the client's own listener has logged it once. */
function withoutOutcry<T extends Queue>(queue: T): T {
  queue.on('error', () => undefined)
  return queue
}

/** Enqueues a call under its own id; a repeated id is one job. */
export async function enqueueCall(
  queue: DispatchQueue,
  envelope: CallEnvelope,
  sealedBody: string,
): Promise<void> {
  await queue.add('call', { envelope, sealedBody }, jobOptions(envelope.id))
}

/** Enqueues the settlement of some calls. Settling a call twice charges it once: the ledger sees to that. */
export async function enqueueSettlements(queue: SettlementQueue, records: SettlementRecord[]): Promise<void> {
  await queue.add('settle', { records }, jobOptions(newId('settle')))
}

/** Enqueues the settlement of one call. */
export const enqueueSettlement = (queue: SettlementQueue, record: SettlementRecord): Promise<void> =>
  enqueueSettlements(queue, [record])

const jobOptions = (jobId: string) => ({ jobId, removeOnComplete: true, removeOnFail: true })
