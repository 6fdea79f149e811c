import { Queue } from 'bullmq'
import type { NoticeKind } from '../../core/accounts/notice.ts'
import type { CallEnvelope, CallJob, SettlementRecord } from '../../core/calls/call-job.ts'
import { newId } from '../../core/kernel/ids.ts'
import type { Redis } from '../redis/redis.ts'
import { queuePrefix } from '../redis/redis-keys.ts'
import { textOfBox } from '../sealing.ts'

/** The name of a job that replaces the lost job of a running call (see requeueCall). */
export const REVIVED = 'revived'
export const DISPATCH_QUEUE = 'dispatch'
export const SETTLEMENT_QUEUE = 'settlement'
export const EVENTS_QUEUE = 'events'
export const CATALOG_QUEUE = 'catalog'
export const MAIL_QUEUE = 'mail'

/** A queue with any type of job, for inspection. */
export type JobQueue = Queue
export type DispatchQueue = Queue<CallJob>
/** The settlement of several calls. */
export interface SettlementJob {
  records: SettlementRecord[]
}
export type SettlementQueue = Queue<SettlementJob>
/** A due delivery. Contains only its id; content and recipient are in PostgreSQL. */
export interface EventJob {
  deliveryId: string
}
export type EventsQueue = Queue<EventJob>
/** The catalog's scheduled jobs, which have no data: the job name selects the task. */
export type CatalogQueue = Queue<Record<string, never>>
/** A message to send. Contains only ids; addresses and links are read or created when it is sent. */
export type MailJob =
  | { kind: 'verify_email'; accountId: string }
  /** Null if no account has the given email; then nothing is sent. */
  | { kind: 'reset_password'; accountId: string | null }
  | { kind: 'account_opened'; accountId: string }
  | { kind: 'change_email' | 'email_changed'; changeId: string }
  | { kind: 'notice'; accountId: string; notice: NoticeKind; atMs: number }
  | { kind: 'invitation'; invitationId: string }
  /** `accountId`: the recipient's; `by`: the person or API key that stored the key. */
  | { kind: 'provider_key_added'; accountId: string; providerKeyId: string; by: string }
  | { kind: 'event'; eventId: string; accountId: string }
export type MailQueue = Queue<MailJob>

/** The queue of a shard's calls for dispatch workers. Jobs are removed on completion, so prompts are not kept. */
export const createDispatchQueue = (connection: Redis, shard = 0): DispatchQueue =>
  open(DISPATCH_QUEUE, connection, shard)
/** The queue of a shard's finished calls to charge. */
export const createSettlementQueue = (connection: Redis, shard = 0): SettlementQueue =>
  open(SETTLEMENT_QUEUE, connection, shard)
/** The queue of due webhook deliveries. */
export const createEventsQueue = (connection: Redis): EventsQueue => open(EVENTS_QUEUE, connection)
/** The queue of the catalog's scheduled jobs. */
export const createCatalogQueue = (connection: Redis): CatalogQueue => open(CATALOG_QUEUE, connection)
/** The queue of messages to send. */
export const createMailQueue = (connection: Redis): MailQueue => open(MAIL_QUEUE, connection)

function open<T extends Queue>(name: string, connection: Redis, shard = 0): T {
  const queue = new Queue(name, { connection: connection.shard(shard), prefix: queuePrefix(shard) })
  // BullMQ prints every error of the client on the console; the client's own listener logs it.
  queue.on('error', () => undefined)
  return queue as T
}

/** Maximum attempts for a message, after 1, 2, 4 … seconds: half an hour in all. */
const MAIL_ATTEMPTS = 12

/** Enqueues messages. A message of the same kind and ids that still waits is not enqueued twice. */
export async function enqueueMails(queue: MailQueue, jobs: readonly MailJob[]): Promise<void> {
  await queue.addBulk(
    jobs.map((job) => ({
      name: job.kind,
      data: job,
      opts: {
        ...jobOptions(Object.values(job).join('-')),
        attempts: MAIL_ATTEMPTS,
        backoff: { type: 'exponential', delay: 1_000 },
      },
    })),
  )
}

/** Schedules a repeating catalog job, which one process of the fleet runs at a time. Idempotent. */
export async function scheduleCatalogJob(queue: CatalogQueue, name: string, everyMs: number): Promise<void> {
  const opts = { removeOnComplete: true, removeOnFail: true }
  await queue.upsertJobScheduler(name, { every: everyMs, startDate: Date.now() + everyMs }, { name, opts })
}

/** Enqueues a call under its own id, at most once. `priority`: see src/billing/holds/admission.ts. */
export async function enqueueCall(
  queue: DispatchQueue,
  envelope: CallEnvelope,
  sealedBody: CallJob['sealedBody'],
  priority: number,
): Promise<void> {
  await queue.add('call', { envelope, sealedBody }, { ...jobOptions(envelope.id), priority })
}

/** The options of a call's job (without its priority) or a settlement job, as BullMQ stores them. */
export const storedJobOptions = (jobId: string) => ({ ...jobOptions(jobId), attempts: 0 })

/**
 * Enqueues the settlement of some calls as one job and returns its id. The ledger charges a call once, even if it is
 * settled twice.
 */
export async function enqueueSettlements(
  queue: SettlementQueue,
  records: SettlementRecord[],
): Promise<string> {
  const jobId = newId('settle')
  await queue.add('settle', { records }, storedJobOptions(jobId))
  return jobId
}

export async function enqueueSettlement(queue: SettlementQueue, record: SettlementRecord): Promise<void> {
  await enqueueSettlements(queue, [record])
}

/** An attempt at a delivery, with the number of attempts before it. */
export interface DeliveryAttempt {
  id: string
  attempts: number
}

/**
 * Enqueues due attempts, each at most once. The next attempt is another job, since the previous one may still be in the
 * queue.
 */
export async function enqueueDeliveries(queue: EventsQueue, due: readonly DeliveryAttempt[]): Promise<void> {
  await queue.addBulk(
    due.map(({ id, attempts }) => ({
      name: 'deliver',
      data: { deliveryId: id },
      opts: jobOptions(`${id}-${attempts}`),
    })),
  )
}

/** Which of the settlement jobs are still in the queue. A job leaves it only after PostgreSQL has its calls. */
export async function settlementJobsLeft(
  redis: Redis,
  jobIds: readonly string[],
  shard = 0,
): Promise<boolean[]> {
  const keys = jobIds.map((jobId) => `${queuePrefix(shard)}:${SETTLEMENT_QUEUE}:${jobId}`)
  if (keys.length === 0) return []
  const client = redis.shard(shard)
  if ((await client.exists(keys)) === 0) return keys.map(() => false)
  const found = await client.pipeline(keys.map((key) => ['exists', key])).exec()
  return (found ?? []).map(([error, count]) => {
    if (error) throw error
    return count === 1
  })
}

/**
 * Returns a call to the queue whose claim was lost with Redis's data, so that it counts as running. It is a delayed
 * job, and the delay acts as its lock: the worker renews it, and when it expires another worker claims the call.
 */
export async function requeueCall(queue: DispatchQueue, job: CallJob, delayMs: number): Promise<boolean> {
  const { id } = job.envelope
  // BullMQ writes jobs without a body of bytes.
  const { sealedBody } = job
  const data = Buffer.isBuffer(sealedBody) ? { ...job, sealedBody: textOfBox(sealedBody) } : job
  await queue.add(REVIVED, data, { ...jobOptions(id), delay: delayMs })
  return (await queue.getJobState(id)) === 'delayed'
}

/** Renews the delay of a revived call; false if another worker has claimed it. */
export async function extendRequeued(
  queue: DispatchQueue,
  callId: string,
  delayMs: number,
): Promise<boolean> {
  const job = await queue.getJob(callId)
  if (!job) return false
  return job.changeDelay(delayMs).then(
    () => true,
    (error: unknown) => {
      if (isQueueRefusal(error)) return false
      throw error
    },
  )
}

/** Whether BullMQ rejected the operation, as opposed to Redis being away. Its scripts number their errors. */
const isQueueRefusal = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'number'

const jobOptions = (jobId: string) => ({ jobId, removeOnComplete: true, removeOnFail: true })
