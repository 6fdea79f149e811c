import { UnrecoverableError, Worker } from 'bullmq'
import {
  type ComposedMail,
  composeMail,
  finishMail,
  type MailSources,
} from '../src/accounts/mail/compose-mail.ts'
import type { MailOutcome, SentMailStore } from '../src/accounts/mail/sent-mail-store.ts'
import type { Mailer } from '../src/platform/network/mailer.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { MAIL_QUEUE, type MailJob } from '../src/platform/queues/queues.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { queuePrefix } from '../src/platform/redis/redis-keys.ts'

export interface MailWorkerOptions extends MailSources {
  /** A client in mode `wait`. BullMQ opens a second connection of it for blocking. The caller closes it. */
  redis: Redis
  mailer: Mailer
  sentMails: Pick<SentMailStore, 'add'>
  jobLockMs: number
  logger: Logger
}

const CONCURRENCY = 4
/** A dead worker may have consumed the queue's wake-up, so an idle worker checks this often. */
const IDLE_LOOK_SECONDS = 5

/**
 * Sends the messages of the queue. Each attempt creates a new link, so no secret is stored in Redis; if a response of
 * the mail server is lost, two messages arrive with valid links. `stop` waits for running attempts, which have
 * deadlines.
 */
export function startMailWorker(options: MailWorkerOptions) {
  const { mailer, sentMails, logger } = options

  /** A message that went out counts as sent even if that cannot be recorded: otherwise it would be sent again. */
  const record = async ({ accountId, message }: ComposedMail, outcome: MailOutcome): Promise<void> => {
    try {
      await sentMails.add({ accountId, kind: message.template, recipient: message.to, outcome })
    } catch (error) {
      logger.warn({ err: error, accountId }, 'sent message not recorded')
    }
  }
  /** Sends a message and records its outcome; a failure that is not the last is tried again. */
  const send = async (mail: ComposedMail, isLast: boolean) => {
    try {
      const outcome = await mailer.send(mail.message)
      await record(mail, outcome)
      return outcome
    } catch (error) {
      if (isLast) await record(mail, 'failed')
      throw error
    }
  }
  const worker = new Worker<MailJob>(
    MAIL_QUEUE,
    async ({ data: job, attemptsMade, opts }) => {
      const mail = await composeMail(job, options)
      const isLast = attemptsMade + 1 >= (opts.attempts ?? 1)
      const outcome = mail && (await send(mail, isLast))
      await finishMail(job, options)
      if (outcome === 'refused') throw new UnrecoverableError('the mail server refused the recipient')
    },
    {
      connection: options.redis,
      prefix: queuePrefix(0),
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
    if (error instanceof UnrecoverableError) logger.warn(about, 'message dropped')
    else logger.error({ ...about, alarm: 'mail-not-sent', subject: 'mail' }, 'message not sent')
  })
  return { stop: () => worker.close() }
}
