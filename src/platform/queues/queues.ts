import { Queue } from 'bullmq'
import type { NoticeKind } from '../../core/accounts/notice.ts'
import type { CallEnvelope, CallJob, SettlementRecord } from '../../core/calls/call-job.ts'
import { newId } from '../../core/kernel/ids.ts'
import type { Redis } from '../redis/redis.ts'
import { QUEUE_PREFIX } from '../redis/redis-keys.ts'

export const DISPATCH_QUEUE = 'dispatch'
export const SETTLEMENT_QUEUE = 'settlement'
export const EVENTS_QUEUE = 'events'
export const CATALOG_QUEUE = 'catalog'
export const MAIL_QUEUE = 'mail'

/** A queue of any jobs, to look at. */
export type JobQueue = Queue
export type DispatchQueue = Queue<CallJob>
/** One job settles many calls. */
export interface SettlementJob {
  records: SettlementRecord[]
}
export type SettlementQueue = Queue<SettlementJob>
/** A delivery to make. Only its id: what is sent, and to whom, stands in PostgreSQL. */
export interface EventJob {
  deliveryId: string
}
export type EventsQueue = Queue<EventJob>
/** Jobs of the catalog, which carry no data: the name says what to do. */
export type CatalogQueue = Queue<Record<string, never>>
/** A message to send. Only ids: addresses and links are read or made when it is sent. */
export type MailJob =
  | { kind: 'verify_email'; accountId: string }
  /** Null: the email that was given has no account, and nothing is sent. */
  | { kind: 'reset_password'; accountId: string | null }
  | { kind: 'account_opened'; accountId: string }
  | { kind: 'change_email' | 'email_changed'; changeId: string }
  | { kind: 'notice'; accountId: string; notice: NoticeKind; atMs: number }
  | { kind: 'invitation'; invitationId: string }
  /** `accountId`: of the recipient; `by`: the person or the API key that stored it. */
  | { kind: 'provider_key_added'; accountId: string; providerKeyId: string; by: string }
  | { kind: 'event'; eventId: string; accountId: string }
export type MailQueue = Queue<MailJob>

/** The queue of calls waiting for a dispatch worker. Jobs vanish on completion: a prompt rests nowhere. */
export const createDispatchQueue = (connection: Redis): DispatchQueue => open(DISPATCH_QUEUE, connection)
/** The queue of finished calls waiting to be charged. */
export const createSettlementQueue = (connection: Redis): SettlementQueue =>
  open(SETTLEMENT_QUEUE, connection)
/** The queue of webhook deliveries that are due. */
export const createEventsQueue = (connection: Redis): EventsQueue => open(EVENTS_QUEUE, connection)
/** The queue of the catalog's scheduled jobs. */
export const createCatalogQueue = (connection: Redis): CatalogQueue => open(CATALOG_QUEUE, connection)
/** The queue of messages to send. */
export const createMailQueue = (connection: Redis): MailQueue => open(MAIL_QUEUE, connection)

function open<T extends Queue>(name: string, connection: Redis): T {
  const queue = new Queue(name, { connection, prefix: QUEUE_PREFIX })
  // BullMQ repeats every error of the client on the console; the client's own listener has logged it once.
  queue.on('error', () => undefined)
  return queue as T
}

/** A message is tried this often, after 1, 2, 4 … seconds: for half an hour in all. */
const MAIL_ATTEMPTS = 12

/** Enqueues messages; one of the same kind and ids that still waits is the same message. */
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

/** Enqueues a call under its own id; a repeated id is one job. `priority`: see src/billing/holds/admission.ts. */
export async function enqueueCall(
  queue: DispatchQueue,
  envelope: CallEnvelope,
  sealedBody: CallJob['sealedBody'],
  priority: number,
): Promise<void> {
  await queue.add('call', { envelope, sealedBody }, { ...jobOptions(envelope.id), priority })
}

/** The options of a call's job (but for its priority) or a settlement job, as BullMQ stores them. */
export const storedJobOptions = (jobId: string) => ({ ...jobOptions(jobId), attempts: 0 })

/**
 * Enqueues the settlement of some calls as one job and returns its id. Settling a call twice charges it once:
 * the ledger sees to that.
 */
export async function enqueueSettlements(
  queue: SettlementQueue,
  records: SettlementRecord[],
): Promise<string> {
  const jobId = newId('settle')
  await queue.add('settle', { records }, storedJobOptions(jobId))
  return jobId
}

/** Enqueues the settlement of one call. */
export async function enqueueSettlement(queue: SettlementQueue, record: SettlementRecord): Promise<void> {
  await enqueueSettlements(queue, [record])
}

/** One attempt at a delivery: `attempts` were made before it. */
export interface DeliveryAttempt {
  id: string
  attempts: number
}

/**
 * Enqueues attempts that are due; one that waits or runs already is the same job. The next attempt is another job, since
 * the one before may not have left the queue yet.
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

/** Which of some settlement jobs are still in the queue. One leaves it only once PostgreSQL has its calls. */
export async function settlementJobsLeft(redis: Redis, jobIds: readonly string[]): Promise<boolean[]> {
  const keys = jobIds.map((jobId) => `${QUEUE_PREFIX}:${SETTLEMENT_QUEUE}:${jobId}`)
  if (keys.length === 0) return []
  if ((await redis.exists(keys)) === 0) return keys.map(() => false)
  const found = await redis.pipeline(keys.map((key) => ['exists', key])).exec()
  return (found ?? []).map(([error, count]) => {
    if (error) throw error
    return count === 1
  })
}

/**
 * Puts a call whose claim died with Redis's data back into the queue, so that it counts as running. It is a
 * delayed job, and its delay does the work of a lock: renewed while its worker lives, and when it runs out
 * another worker claims the call.
 */
export async function reviveCall(queue: DispatchQueue, job: CallJob, delayMs: number): Promise<boolean> {
  const { id } = job.envelope
  await queue.add('revived', job, { ...jobOptions(id), delay: delayMs })
  return (await queue.getJobState(id)) === 'delayed'
}

/** Renews the delay of a revived call; false when another worker has claimed it. */
export async function keepRevived(queue: DispatchQueue, callId: string, delayMs: number): Promise<boolean> {
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

/** Whether BullMQ itself refused, rather than Redis being away. Its scripts number their refusals. */
const isQueueRefusal = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'number'

const jobOptions = (jobId: string) => ({ jobId, removeOnComplete: true, removeOnFail: true })
