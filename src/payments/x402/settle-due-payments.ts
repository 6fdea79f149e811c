import { setTimeout as delay } from 'node:timers/promises'
import type { CallPaymentStore, ClaimedPayment } from './call-payment-store.ts'
import { askToSettle, recordSettlement, type SettleDependencies } from './settle-call-payment.ts'

export interface SettleDueDependencies extends SettleDependencies {
  store: CallPaymentStore
  /** Maximum duration of a settlement attempt. */
  settleWaitMs: number
}

/** Concurrent requests of one process to the facilitator: at two seconds each, 200 payments a second. */
const AT_ONCE = 400
/** The next claim waits for this many free slots, so that a claim takes many. */
const CLAIMED_FROM = 100
/** Payments that become due meanwhile do not wait for a slow response. */
const LOOK_AGAIN_MS = 1_000

/**
 * Settles payments until none is due, nearest expiry first. Any number of processes may run it: each claims its own
 * payments. A later attempt retries a failed one, which does not delay others.
 */
export async function settleDuePayments(deps: SettleDueDependencies, stopping?: AbortSignal): Promise<void> {
  const { store, settleWaitMs, logger, clock } = deps
  const underWay = new Set<Promise<void>>()
  const settle = async (payment: ClaimedPayment) => {
    const { callId } = payment
    try {
      await recordSettlement(callId, await askToSettle(payment, deps), deps)
    } catch (error) {
      logger.error({ err: error, callId }, 'call payment not settled, retrying')
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
