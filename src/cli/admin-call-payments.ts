import { formatUsd } from '../core/kernel/money.ts'
import { isoTime } from '../core/kernel/time.ts'
import { type CallPayment, createCallPaymentStore } from '../payments/x402/call-payment-store.ts'
import type { AdminCommands } from './admin-command.ts'
import { list, one, UsageError } from './run-command.ts'

const LISTED = 50
const TRANSACTION = /^0x[0-9a-f]{64}$/i

/** x402 payments for single calls. */
export const callPaymentCommands: AdminCommands = {
  async 'call-payment list'({ postgres, input }) {
    const payments = await createCallPaymentStore(postgres).list(input.count('limit') ?? LISTED)
    return list('call_payments', payments.map(view), 'No call was paid for by x402.')
  },

  /** What the wallet should have received by day, because the ledger knows of transfers only from the facilitator. */
  async 'call-payment days'({ postgres, input }) {
    const days = await createCallPaymentStore(postgres).settledByDay(input.count('limit') ?? LISTED)
    const views = days.map(({ amountPico, ...day }) => ({ ...day, amount_usd: formatUsd(amountPico) }))
    return list('days', views, 'No call was paid for by x402.')
  },

  /** Records whether an expired, unproven payment was made, according to the chain. */
  async 'call-payment resolve'({ postgres, auditLog, operator, input }) {
    const callId = input.subject('name the call: its id, as in call-payment list')
    const transaction = input.option('transaction')
    const reason = input.option('unpaid')
    if ((transaction === undefined) === (reason === undefined))
      throw new UsageError('pass --transaction HASH if the chain has the transfer, otherwise --unpaid REASON')
    if (transaction !== undefined && !TRANSACTION.test(transaction))
      throw new UsageError('--transaction must be a transaction hash: 0x and 64 hexadecimal digits')
    const store = createCallPaymentStore(postgres)
    const payment = await store.find(callId)
    if (payment?.state !== 'unproven') throw new Error(`${callId} has no unproven payment`)
    const details = { transaction: transaction ?? null, unpaid: reason ?? null }
    const action = { action: 'call-payment.resolve', target: callId, details }
    return auditLog.auditedAction(operator, action, async () => {
      if (transaction === undefined) await store.move(callId, ['unproven'], 'unpaid', reason)
      else await store.settled(callId, transaction)
      return one(view((await store.find(callId)) ?? payment))
    })
  },
}

const view = (payment: CallPayment) => ({
  call_id: payment.callId,
  state: payment.state,
  amount_usd: formatUsd(payment.amountPico),
  payer: payment.payer,
  nonce: payment.nonce,
  network: payment.network,
  asset: payment.asset,
  attempts: payment.attempts,
  transaction: payment.transaction,
  reason: payment.reason,
  created_at: isoTime(payment.createdAt),
  expires_at: isoTime(payment.expiresAt),
})
