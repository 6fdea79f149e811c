import type { HoldStore } from '../../billing/holds/hold-store.ts'
import { CALL_PAYMENT_ACCOUNT } from '../../core/billing/call-payment.ts'
import type { CallPaymentStore, ClaimedPayment } from './call-payment-store.ts'
import { askToSettle, recordSettlement, type SettleDependencies } from './settle-call-payment.ts'

export interface ReconcileCallPaymentsDependencies extends SettleDependencies {
  store: CallPaymentStore
  holds: Pick<HoldStore, 'apply' | 'openHolds'>
  /** How long an attempt to settle may take. */
  settleWaitMs: number
}

/**
 * Settles payments that are due, decides about those that were abandoned, and closes those that are decided in the
 * ledger. One that fails is taken up again by a later run, and keeps no other waiting.
 */
export async function reconcileCallPayments(deps: ReconcileCallPaymentsDependencies): Promise<void> {
  const { store, holds, settleWaitMs, logger, clock } = deps
  await store.decideAbandoned(clock())
  const due = await store.claimDue(clock(), settleWaitMs)
  const attempt = async (callId: string, work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (error) {
      logger.error({ err: error, callId }, 'payment of a call could not be reconciled, retrying')
    }
  }
  const settle = async (payment: ClaimedPayment) =>
    recordSettlement(payment.callId, await askToSettle(payment, deps), deps)
  await Promise.all(due.map((payment) => attempt(payment.callId, () => settle(payment))))
  const closable = await store.closable(clock())
  if (closable.length === 0) return
  // What a call is charged may still wait for settlement, or its hold to be closed by it.
  const held = new Set((await holds.openHolds(CALL_PAYMENT_ACCOUNT)).map((hold) => hold.callId))
  for (const callId of closable) {
    if (held.has(callId)) continue
    await attempt(callId, async () => {
      const balance = await store.close(callId)
      if (balance) await holds.apply(CALL_PAYMENT_ACCOUNT, balance, [])
    })
  }
}
