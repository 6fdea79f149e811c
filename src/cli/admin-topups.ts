import { PAYMENT_RAILS, type PaymentRailName } from '../core/billing/postings.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { formatUsd, type PicoUsd } from '../core/kernel/money.ts'
import { isoTime } from '../core/kernel/time.ts'
import { PICO_PER_CENT } from '../core/payments/top-up-amount.ts'
import { paymentView } from '../http/account-api/top-ups.ts'
import { createRefundTopUp } from '../operators/top-up-refunds.ts'
import type { Payment } from '../payments/payment-store.ts'
import { reconcileReturns, spansSince } from '../payments/reconcile-returns.ts'
import { type AdminCommands, type AdminContext, accountIdOf } from './admin-command.ts'
import { readUsd } from './command-input.ts'
import { lines, list, one, UsageError } from './run-command.ts'

const LISTED = 50

async function find({ input, payments: { payments } }: AdminContext): Promise<Payment> {
  const id = input.subject('name the top-up: its id, as in topup list')
  const payment = await payments.find(id)
  if (!payment) throw new Error(`there is no top-up ${id}`)
  return payment
}

const audited = <T>(
  { auditLog, operator }: AdminContext,
  action: string,
  target: string,
  details: Record<string, string>,
  work: () => Promise<T>,
): Promise<T> => auditLog.auditedAction(operator, { action, target, details }, work)

export const topUpCommands: AdminCommands = {
  async 'topup create'(context) {
    const { input } = context
    const account = input.required('account', 'needs the id or email of an account')
    const amountPico = readTopUp(input.option('amount'))
    const rail = readRail(input.option('rail'))
    const { id } = await context.accountManagement.find(account)
    const { topUps } = context.payments
    const details = { amount_usd: formatUsd(amountPico), rail }
    return audited(context, 'topup.create', id, details, async () => {
      const opening = await topUps.open(id, rail, amountPico)
      switch (opening.kind) {
        case 'opened':
          return one(view(opening.payment))
        case 'no_such_rail':
          throw notSetUp(rail)
        case 'too_many_open':
          throw new ApiError(
            'rate_limit_exceeded',
            `The account has ${opening.max} unpaid top-ups. Pay one of them, or wait until they expire.`,
          )
        case 'rail_failed':
          throw new ApiError('overloaded', `${rail} could not open a checkout: ${messageOf(opening.cause)}`)
        default:
          return opening satisfies never
      }
    })
  },

  async 'topup show'(context) {
    const payment = await find(context)
    const events = (await context.payments.events.list(payment.id)).map(
      ({ receivedAt, id, type, outcome, detail }) => ({
        at: isoTime(receivedAt),
        id,
        type,
        outcome: outcome ?? 'waiting',
        detail,
      }),
    )
    const rows = await context.postgres.accountSuspension.findMany({
      where: { paymentId: payment.id },
      orderBy: { createdAt: 'asc' },
    })
    const suspensions = rows.map(({ createdAt, reason, shortfallPico }) => ({
      at: isoTime(createdAt),
      reason,
      shortfall_usd: formatUsd(shortfallPico),
    }))
    const log = [
      ...events.map(({ at, type, outcome }) => `${at}  ${type}  ${outcome}`),
      ...suspensions.map(({ at, reason }) => `${at}  account suspended: ${reason}`),
    ]
    return {
      data: { ...view(payment), events, suspensions },
      text: [lines(view(payment)), ...log].join('\n'),
    }
  },

  async 'topup list'(context) {
    const { payments } = context.payments
    const accountId = await accountIdOf(context, context.input.option('account'))
    const found = await payments.list({
      ...(accountId !== undefined && { accountId }),
      limit: context.input.count('limit') ?? LISTED,
    })
    return list('topups', found.map(view), 'There are no top-ups.')
  },

  /** Reads the state of a payment from its rail instead of waiting for its webhook. */
  async 'topup check'(context) {
    const payment = await find(context)
    return audited(context, 'topup.check', payment.id, {}, async () =>
      one(view(await context.payments.topUps.check(payment))),
    )
  },

  /** Lists refunds and disputes at the rails, and posts those that webhooks missed. */
  async 'topup reconcile'(context) {
    const { missed, unknownPayments, ...counts } = await audited(
      context,
      'topup.reconcile',
      'payments',
      {},
      () => reconcileReturns({ ...context.payments, logger: context.logger }, spansSince(null, Date.now())),
    )
    const views = missed.map(view)
    const unknown = unknownPayments.map(({ rail, paymentId, chargeId, amountPico }) => ({
      rail,
      payment_id: paymentId,
      charge_id: chargeId,
      amount_usd: amountPico === null ? null : formatUsd(amountPico),
    }))
    const failed = counts.failures > 0 || unknown.length > 0
    const { checked, paymentsChecked: payments_checked, ...others } = counts
    const report = [
      `${checked} refunds and disputes and ${payments_checked} payments compared, ${views.length} top-ups changed.`,
      ...unknown.map((one) => `\nAt the rail, and not known here:\n${lines(one)}`),
      ...(counts.failures > 0 ? [`${counts.failures} lists of rails could not be read to their end.`] : []),
      ...views.map((missedView) => `\n${lines(missedView)}`),
    ]
    const data = { checked, payments_checked, ...others, missed: views, unknown_payments: unknown }
    return { data, text: report.join('\n'), failed }
  },

  async 'topup refund'(context) {
    const payment = await find(context)
    const amount = context.input.option('amount')
    const amountPico = amount === undefined ? null : readTopUp(amount)
    const refund = createRefundTopUp({ ...context.payments, auditedAction: context.auditLog.auditedAction })
    const reason = context.input.option('reason')
    const force = context.input.flag('force')
    return one(view(await refund(context.operator, { payment, amountPico, reason, force })))
  },
}

/** A top-up as commands print it, with its id at the rail. */
const view = (payment: Payment) => ({
  ...paymentView(payment),
  rail: payment.rail,
  account_id: payment.accountId,
  checkout_id: payment.checkoutId,
  charge_id: payment.chargeId,
})

/** Parses the name of a rail; `card` is Stripe's. */
function readRail(text: string | undefined): PaymentRailName {
  const rail = PAYMENT_RAILS.find((known) => known === (text === 'card' ? 'stripe' : text))
  if (!rail) throw new UsageError(`--rail must be one of card, ${PAYMENT_RAILS.join(', ')}`)
  return rail
}

function readTopUp(text: string | undefined): PicoUsd {
  const amountPico = readUsd('--amount', text)
  if (amountPico % PICO_PER_CENT !== 0n) throw new UsageError('--amount must be above zero, in whole cents')
  return amountPico
}

const refused = (message: string) => new ApiError('invalid_request', message)
const notSetUp = (rail: string) => refused(`${rail} is not configured; see the payment settings`)
const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
