import { ApiError } from '../core/kernel/errors.ts'
import { formatUsd, type PicoUsd } from '../core/kernel/money.ts'
import type { Payment } from '../payments/payment-store.ts'
import type { TopUpService } from '../payments/top-up-service.ts'
import type { Operator, RunAudited } from './audit-log.ts'

export interface RefundRequest {
  payment: Payment
  /** Null: the remaining amount. */
  amountPico: PicoUsd | null
  /** Stored in the audit log. */
  reason?: string | undefined
  /** Also refund what the balance no longer covers. */
  force: boolean
}

export type RefundTopUp = (operator: Operator, request: RefundRequest) => Promise<Payment>

/** Refunds top-ups for operators, recorded in the audit log first. Throws ApiError if nothing was refunded. */
export function createRefundTopUp({
  topUps,
  auditedAction,
}: {
  topUps: Pick<TopUpService, 'refund'>
  auditedAction: RunAudited
}): RefundTopUp {
  return (operator, { payment, amountPico, reason, force }) => {
    const details = {
      amount_usd: amountPico === null ? 'all' : formatUsd(amountPico),
      ...(reason !== undefined && { reason }),
      ...(force && { force: 'true' }),
    }
    return auditedAction(operator, { action: 'topup.refund', target: payment.id, details }, async () => {
      const refund = await topUps.refund(payment.id, amountPico, { force })
      switch (refund.kind) {
        case 'refunded':
          return refund.payment
        case 'too_much':
          throw refused(`${formatUsd(refund.leftPico as PicoUsd)} USD of this top-up can be refunded.`)
        case 'not_in_balance':
          throw refused(
            `The balance has ${formatUsd(refund.freePico as PicoUsd)} USD available; the rest was spent or is held by running ` +
              'calls. Refund less, or force it: the account then owes the rest and is suspended.',
          )
        case 'refused':
          throw refused(`Nothing was refunded: ${refund.reason}. A repetition is a new attempt.`)
        case 'no_such_rail':
          throw refused(`${payment.rail} is not configured; see the payment settings.`)
        case 'no_such_payment':
          throw new ApiError('not_found', `There is no top-up ${payment.id}.`)
        default:
          return refund satisfies never
      }
    })
  }
}

const refused = (message: string) => new ApiError('conflict', message)
