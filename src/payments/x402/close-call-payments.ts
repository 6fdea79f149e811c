import type { HoldStore } from '../../billing/holds/hold-store.ts'
import { CALL_PAYMENT_ACCOUNT } from '../../core/billing/postings.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { CallPaymentStore } from './call-payment-store.ts'

export interface CloseCallPaymentsDependencies {
  store: CallPaymentStore
  holds: Pick<HoldStore, 'apply' | 'openHolds'>
  logger: Logger
  clock: () => number
}

/** Their postings are serialized, but the round trips around them are not. */
const AT_ONCE = 4

/**
 * Decides about abandoned payments, and closes decided ones in the ledger, until none is left. A later run retries a
 * failed one, which does not delay others.
 */
export async function closeCallPayments(
  { store, holds, logger, clock }: CloseCallPaymentsDependencies,
  stopping?: AbortSignal,
): Promise<void> {
  await store.decideAbandoned(clock())
  const close = async (callId: string): Promise<boolean> => {
    try {
      const balance = await store.close(callId)
      if (balance) await holds.apply(CALL_PAYMENT_ACCOUNT, balance, [])
      return true
    } catch (error) {
      logger.error({ err: error, callId }, 'call payment not closed, retrying')
      return false
    }
  }
  for (let closed = 1; closed > 0 && !stopping?.aborted; ) {
    const closable = await store.closable(clock())
    if (closable.length === 0) return
    // The charge of a call may still wait for settlement, which closes its hold.
    const held = new Set((await holds.openHolds(CALL_PAYMENT_ACCOUNT)).map((hold) => hold.callId))
    const next = closable.filter((callId) => !held.has(callId)).values()
    const lane = async () => {
      let count = 0
      for (const callId of next) count += (await close(callId)) ? 1 : 0
      return count
    }
    const counts = await Promise.all(Array.from({ length: AT_ONCE }, lane))
    closed = counts.reduce((sum, count) => sum + count, 0)
  }
}
