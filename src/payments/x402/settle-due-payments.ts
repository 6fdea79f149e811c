import { setTimeout as delay } from 'node:timers/promises'
import type { CallPaymentStore, ClaimedPayment } from './call-payment-store.ts'
import { askToSettle, recordSettlement, type SettleDependencies } from './settle-call-payment.ts'

export interface SettleDueDependencies extends SettleDependencies {
  store: CallPaymentStore
  /** How long an attempt to settle may take. */
  settleWaitMs: number
}

/** Requests to a facilitator at once of one process: at two seconds each, 200 payments a second. */
const AT_ONCE = 400
/** Claimed again once so many of them have ended, so that a claim takes many. */
const CLAIMED_FROM = 100
/** What becomes due meanwhile does not wait for a slow answer. */
const LOOK_AGAIN_MS = 1_000

/**
 * Settles payments until none is due, those that expire first before others. Any number of processes may do so at once:
 * each claims its own. One that fails is taken up again by a later attempt, and keeps no other waiting.
 */
export async function settleDuePayments(deps: SettleDueDependencies, stopping?: AbortSignal): Promise<void> {
  const { store, settleWaitMs, logger, clock } = deps
  const underWay = new Set<Promise<void>>()
  const settle = async (payment: ClaimedPayment) => {
    const { callId } = payment
    try {
      await recordSettlement(callId, await askToSettle(payment, deps), deps)
    } catch (error) {
      logger.error({ err: error, callId }, 'payment of a call could not be settled, retrying')
    }
  }
  while (!stopping?.aborted) {
    const due = await store.claimDue(clock(), settleWaitMs, AT_ONCE - underWay.size)
    for (const payment of due) {
      const attempt = settle(payment).finally(() => underWay.delete(attempt))
      underWay.add(attempt)
    }
    if (underWay.size === 0) return
    do await Promise.race([...underWay, delay(LOOK_AGAIN_MS, undefined, { ref: false })])
    while (underWay.size > AT_ONCE - CLAIMED_FROM)
  }
  await Promise.all(underWay)
}
