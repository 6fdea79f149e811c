import type { Logger } from 'pino'
import type { HoldStore } from '../billing/holds/hold-store.ts'
import { takeRefused } from '../billing/holds/refused-accounts.ts'
import { MINUTE_MS } from '../core/kernel/time.ts'
import type { Redis } from '../platform/redis/redis.ts'
import type { AutoTopUpStore } from './auto-top-up-store.ts'
import type { PaymentRails } from './payment-rail.ts'
import type { Payment, PaymentStore } from './payment-store.ts'
import type { TopUpService } from './top-up-service.ts'

export interface AutoTopUpDependencies {
  autoTopUps: Pick<AutoTopUpStore, 'due' | 'takeStep'>
  payments: Pick<PaymentStore, 'uncharged'>
  topUps: Pick<TopUpService, 'charge'>
  rails: PaymentRails
  redis: Redis
  holds: Pick<HoldStore, 'balance'>
  logger: Logger
  clock: () => number
}

export interface AutoTopUpReport {
  /** Requested charges, including those that an earlier run requested without receiving the response. */
  charged: number
  paused: number
  failures: number
}

/** A rail that does not respond is retried after this. */
const ASK_AGAIN_AFTER_MS = MINUTE_MS
/**
 * Later, the charge would be unexpected. Well within the day for which Stripe remembers an idempotency key, so that a retry
 * never charges twice. Source: https://docs.stripe.com/api/idempotent_requests
 */
const ASK_FOR_MS = 60 * MINUTE_MS
const AT_ONCE_MAX = 50
/** Most of them have no automatic top-ups. */
const REFUSED_MAX = 10_000

/**
 * Tops up every account whose balance is below its threshold by charging its saved card. Open holds count as spent for
 * accounts that had a call refused since the last run. The payment is recorded before the request to the rail, and its
 * id is the rail's idempotency key: the next run continues one that died between any two steps. Money reaches the
 * ledger as with any top-up. Each account is independent: a failed one is retried.
 */
export async function runAutoTopUps(deps: AutoTopUpDependencies): Promise<AutoTopUpReport> {
  const { autoTopUps, payments, topUps, rails, redis, holds, logger, clock } = deps
  const report: AutoTopUpReport = { charged: 0, paused: 0, failures: 0 }
  const charge = async (payment: Payment) => {
    report.charged += 1
    const { state } = await topUps.charge(payment)
    if (state === 'failed') await takeStep(payment.accountId)
  }
  const takeStep = async (accountId: string, heldPico = 0n): Promise<void> => {
    const { step, charge: payment } = await autoTopUps.takeStep(accountId, heldPico)
    if (step.kind === 'pause') {
      report.paused += 1
      logger.warn({ accountId, reason: step.reason }, 'automatic top-ups paused')
    }
    if (payment) await charge(payment)
  }
  const attempt = async (about: { accountId: string; paymentId?: string }, work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      report.failures += 1
      logger.warn({ err: error, ...about }, 'automatic top-up failed, retrying')
    }
  }

  const now = clock()
  const unanswered = await payments.uncharged(
    new Date(now - ASK_FOR_MS),
    new Date(now - ASK_AGAIN_AFTER_MS),
    AT_ONCE_MAX,
  )
  for (const payment of unanswered.filter(({ rail }) => rails.get(rail)?.cards))
    await attempt({ accountId: payment.accountId, paymentId: payment.id }, () => charge(payment))
  const refused = new Set(await takeRefused(redis, REFUSED_MAX))
  for (const accountId of await autoTopUps.due(AT_ONCE_MAX, [...refused])) {
    await attempt({ accountId }, async () => {
      const heldPico = refused.has(accountId) ? (await holds.balance(accountId)).heldPico : 0n
      await takeStep(accountId, heldPico)
    })
  }
  return report
}
