import type { PaymentRailName } from '../core/billing/payment-movements.ts'
import { readTopUpAmount, type TopUpLimits } from '../core/billing/top-up-amount.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { formatUsd } from '../core/kernel/money.ts'
import type { TopUps } from '../payments/create-top-ups.ts'
import type { Payment } from '../payments/payment-store.ts'
import { railMethod, railOfMethod } from './payment-view.ts'

/** Reads `amount_usd` and `rail`, one of the methods offered. Throws ApiError `invalid_request`. */
export function readTopUp(body: unknown, range: TopUpLimits, methods: string[]) {
  const { amount_usd: given, rail: method } = (body ?? {}) as Record<string, unknown>
  const rail = railOfMethod(method)
  if (!rail || !methods.includes(railMethod(rail))) {
    const offered = methods.length > 0 ? `Use one of: ${methods.join(', ')}.` : 'None is set up.'
    throw new ApiError('invalid_request', `\`rail\` names no way to pay here. ${offered}`, { param: 'rail' })
  }
  const amount = readTopUpAmount(given, range)
  if (amount.kind === 'refused') {
    const { minPico, maxPico } = range
    const allowed = `from ${formatUsd(minPico)} to ${formatUsd(maxPico)} USD, in whole cents`
    throw new ApiError('invalid_request', `\`amount_usd\` takes an amount such as "25.00", ${allowed}.`, {
      param: 'amount_usd',
    })
  }
  return { rail, amountPico: amount.amountPico }
}

/** Opens a top-up at its rail. Throws ApiError where it cannot be. */
export async function openTopUp(
  { service }: TopUps,
  accountId: string,
  rail: PaymentRailName,
  amountPico: bigint,
): Promise<Payment> {
  const opening = await service.open(accountId, rail, amountPico)
  switch (opening.kind) {
    case 'opened':
      return opening.payment
    case 'no_such_rail':
      throw new ApiError('invalid_request', '`rail` names no way to pay here.', { param: 'rail' })
    case 'too_many_open':
      throw new ApiError(
        'rate_limit_exceeded',
        `This account has ${opening.max} unpaid top-ups. Pay one of them, or wait until they expire.`,
        { retryAfterSeconds: 60 },
      )
    case 'rail_failed':
      throw new ApiError('overloaded', 'The payment page cannot be opened right now. Retry shortly.', {
        retryAfterSeconds: 5,
        cause: opening.cause,
      })
    default:
      return opening satisfies never
  }
}
