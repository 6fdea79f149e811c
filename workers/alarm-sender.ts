import {
  alarmMail,
  type Notice,
  pagerDutyEvent,
  type Sender,
  slackMessage,
} from '../src/core/alarms/alarm-message.ts'
import { type AttemptResult, afterAttempt } from '../src/core/webhooks/webhook-retry.ts'
import type { DestinationTarget } from '../src/operators/alarm-destination-store.ts'
import type { AlarmNoticeStore, ClaimedDestination } from '../src/operators/alarm-notice-store.ts'
import type { Mailer } from '../src/platform/network/mailer.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { pollEvery } from '../src/platform/process/poll-every.ts'
import type { Sealer } from '../src/platform/sealing.ts'

const MINUTE = 60_000

/** Delays between attempts at one message; it is dropped after about six hours, since newer ones replace it. */
const RETRY_DELAYS_MS: readonly number[] = [
  5_000,
  30_000,
  2 * MINUTE,
  5 * MINUTE,
  ...Array(35).fill(10 * MINUTE),
]
/** From this failed attempt on, an alarm reports the failure at other destinations. */
const ALARMING_ATTEMPT = 3

export interface AlarmSenderOptions {
  notices: AlarmNoticeStore
  /** Opens targets. */
  sealer: Pick<Sealer, 'open'>
  /** Never rejects. */
  post: (url: string, body: string, headers: Record<string, string>) => Promise<AttemptResult>
  /** Null: there is no mail. */
  mailer: Mailer | null
  sender: Sender
  logger: Logger
  random: () => number
  everyMs?: number
  /** Must outlast an attempt. */
  leaseMs?: number
  /** Messages to one destination per minute; further notices are combined in the next. */
  perMinute?: number
}

const EVERY_MS = 1_000
const LEASE_MS = 90_000
const PER_MINUTE = 6
/** PagerDuty groups events itself, so each alarm is sent as one event. */
const PER_MINUTE_PAGERDUTY = 60
/** If more notices wait, they are combined in one message. */
const APART_MAX = 3
const APART_MAX_PAGERDUTY = 10

/**
 * Sends alarms to destinations, to each one message at a time, so that a slow one does not delay others. A crash
 * between the response and its record sends a message again. Returns a stop function, which waits for running attempts.
 */
export function startAlarmSender(options: AlarmSenderOptions): () => Promise<void> {
  const { notices, logger, everyMs = EVERY_MS, leaseMs = LEASE_MS, perMinute = PER_MINUTE } = options
  const running = new Set<Promise<void>>()
  const stopPolling = pollEvery(
    everyMs,
    async () => {
      for (const destination of await notices.claim({
        leaseMs,
        perMinute,
        perMinutePagerDuty: PER_MINUTE_PAGERDUTY,
      })) {
        const sending = notify(destination, options).catch((error: unknown) =>
          logger.error(
            { err: error, destinationId: destination.id },
            'alarm destination not processed, retrying',
          ),
        )
        running.add(sending)
        void sending.finally(() => running.delete(sending))
      }
    },
    (error) => logger.warn({ err: error }, 'alarm destinations read failed'),
    { firstAfterMs: 0 },
  )
  return async () => {
    await stopPolling()
    await Promise.all(running)
  }
}

/** Makes one attempt and records it. */
async function notify(destination: ClaimedDestination, options: AlarmSenderOptions): Promise<void> {
  const { notices, sealer, logger, random } = options
  const { id, name, attempts } = destination
  if (destination.notices.length === 0) return
  // Sealed by the store of destinations, with this shape.
  const target = JSON.parse(sealer.open(destination.targetSealed, id)) as DestinationTarget
  const message = nextMessage(target.kind, destination.notices)
  const ids = message.map((one) => one.id)
  const result = await send(
    target,
    message.map(({ notice }) => notice),
    options,
  )
  const next = afterAttempt(result, attempts + 1, RETRY_DELAYS_MS, random())
  if (next.kind === 'delivered') {
    await notices.sent(id, ids)
    logger.info({ subject: id, alarmsOver: ['alarm-not-delivered'], notices: ids.length }, 'alarms sent')
    return
  }
  const reason = result.kind === 'answered' ? `HTTP ${result.statusCode}` : result.error
  await notices.failed(id, ids, next, reason)
  const about = { subject: id, name, reason, attempt: attempts + 1 }
  if (attempts + 1 < ALARMING_ATTEMPT && next.kind === 'retry')
    logger.warn(about, 'alarms not sent, retrying')
  else logger.error({ alarm: 'alarm-not-delivered', ...about }, 'alarms not sent')
}

/** The notices of the next message: the oldest or, if many wait, all that can be combined. */
function nextMessage(
  kind: DestinationTarget['kind'],
  waiting: ClaimedDestination['notices'],
): ClaimedDestination['notices'] {
  const first = waiting.slice(0, 1)
  if (kind !== 'pagerduty') return waiting.length > APART_MAX ? waiting : first
  // Each incident is resolved by a separate event.
  const isOpened = ({ notice }: { notice: Notice }) => notice.event === 'opened'
  const opened = waiting.filter(isOpened)
  return opened.length > APART_MAX_PAGERDUTY && first.every(isOpened) ? opened : first
}

async function send(
  target: DestinationTarget,
  notices: readonly Notice[],
  { post, mailer, sender }: AlarmSenderOptions,
): Promise<AttemptResult> {
  const agent = { 'user-agent': 'Shuntyard-Alarms/1' }
  switch (target.kind) {
    case 'slack':
      return post(target.url, JSON.stringify(slackMessage(notices, sender)), agent)
    case 'pagerduty':
      return post(target.url, JSON.stringify(pagerDutyEvent(target.routingKey, notices, sender)), agent)
    case 'email':
      return sendMail(target.address, notices, mailer, sender)
    default:
      return target satisfies never
  }
}

const ERROR_LENGTH_MAX = 200

async function sendMail(
  address: string,
  notices: readonly Notice[],
  mailer: Mailer | null,
  sender: Sender,
): Promise<AttemptResult> {
  const startedAt = performance.now()
  const failed = (error: string): AttemptResult => ({
    kind: 'unanswered',
    error: error.slice(0, ERROR_LENGTH_MAX),
    durationMs: performance.now() - startedAt,
  })
  if (mailer === null) return failed('mail is not configured')
  try {
    const sent = await mailer.send({ to: address, ...alarmMail(notices, sender) })
    if (sent === 'refused') return failed('the mail server refused the recipient')
    return {
      kind: 'answered',
      statusCode: 200,
      retryAfterMs: null,
      durationMs: performance.now() - startedAt,
    }
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error))
  }
}
