import { judgeSettlement, type SettleVerdict } from '../../core/payments/x402.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { CallPaymentStore, ClaimedPayment } from './call-payment-store.ts'
import type { Facilitator } from './facilitator.ts'

export interface SettleDependencies {
  store: Pick<CallPaymentStore, 'settled' | 'refused' | 'move' | 'noteReason'>
  facilitator: Pick<Facilitator, 'settle'>
  logger: Logger
  clock: () => number
}

/**
 * Asks the facilitator to settle a claimed payment. The transfer is made at most once however often it is requested: a
 * chain accepts the nonce of an authorization once.
 */
export async function askToSettle(
  { callId, request, attempts, expiresAt }: ClaimedPayment,
  { facilitator, logger, clock }: Pick<SettleDependencies, 'facilitator' | 'logger' | 'clock'>,
): Promise<SettleVerdict> {
  const isExpired = expiresAt.getTime() <= clock()
  const verdict = judgeSettlement(await facilitator.settle(request), { attempts, isExpired })
  switch (verdict.kind) {
    case 'settled':
      break
    case 'retry':
      logger.warn({ callId, attempts, reason: verdict.reason }, 'call payment not settled yet, retrying')
      break
    case 'unpaid':
      logger.warn(
        { alarm: 'call-payment-unpaid', callId, reason: verdict.reason },
        'call payment refused by the facilitator',
      )
      break
    case 'unproven':
      logger.error(
        { alarm: 'call-payment-unproven', callId, reason: verdict.reason },
        'call payment unproven; check its authorization on the chain',
      )
      break
    default:
      verdict satisfies never
  }
  return verdict
}

/** Records the result of an attempt to settle a payment. Repeatable. */
export async function recordSettlement(
  callId: string,
  verdict: SettleVerdict,
  { store, logger }: Pick<SettleDependencies, 'store' | 'logger'>,
): Promise<void> {
  switch (verdict.kind) {
    case 'settled':
      try {
        await store.settled(callId, verdict.transaction)
      } catch (error) {
        // The facilitator may not name it again.
        logger.error({ callId, transaction: verdict.transaction }, 'settled call payment not recorded')
        throw error
      }
      break
    case 'retry':
      await store.noteReason(callId, verdict.reason)
      break
    case 'unpaid':
      await store.refused(callId, verdict.reason)
      break
    case 'unproven':
      await store.move(callId, ['settling'], 'unproven', verdict.reason)
      break
    default:
      verdict satisfies never
  }
}
