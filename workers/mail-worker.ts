import { UnrecoverableError, Worker } from 'bullmq'
import { composeMail, finishMail, type MailSources } from '../src/accounts/mail/compose-mail.ts'
import type { Mailer } from '../src/platform/network/mailer.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { MAIL_QUEUE, type MailJob } from '../src/platform/queues/queues.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { QUEUE_PREFIX } from '../src/platform/redis/redis-keys.ts'

export interface MailWorkerOptions extends MailSources {
  /** A client in mode `wait`. BullMQ makes a second connection of it for blocking. The caller closes it. */
  redis: Redis
  mailer: Mailer
  jobLockMs: number
  logger: Logger
}

const CONCURRENCY = 4
/** A worker that died may have swallowed the queue's wake-up, so an idle one looks for itself this often. */
const IDLE_LOOK_SECONDS = 5

/**
 * Sends the messages that the queue hands it. Each attempt makes a link of its own, so no secret waits in Redis; when
 * an answer of the mail server was lost, two messages with a link each arrive, and either is good. Its `stop` lets
 * running attempts finish, which their deadlines bound.
 */
export function startMailWorker(options: MailWorkerOptions) {
  const { mailer, logger } = options
  const worker = new Worker<MailJob>(
    MAIL_QUEUE,
    async ({ data: job }) => {
      const message = await composeMail(job, options)
      const result = message && (await mailer.send(message))
      await finishMail(job, options)
      if (result === 'refused') throw new UnrecoverableError('the mail server refused the recipient')
    },
    {
      connection: options.redis,
      prefix: QUEUE_PREFIX,
      concurrency: CONCURRENCY,
      lockDuration: options.jobLockMs,
      stalledInterval: options.jobLockMs,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: IDLE_LOOK_SECONDS,
    },
  )
  worker.on('error', (error) => logger.error({ err: error, queue: MAIL_QUEUE }, 'queue error'))
  worker.on('failed', (job, error) => {
    const about = { err: error, ...job?.data, attempt: job?.attemptsMade }
    if (error instanceof UnrecoverableError) logger.warn(about, 'a message was given up')
    else logger.error({ ...about, alarm: 'mail-not-sent', subject: 'mail' }, 'a message could not be sent')
  })
  return { stop: () => worker.close() }
}
