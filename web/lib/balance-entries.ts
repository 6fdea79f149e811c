/** What moves a balance, in the words of both consoles. */
export const BALANCE_ENTRY_NAMES = {
  free_credit: 'Free credit',
  topup: 'Top-up',
  refund: 'Refund',
  refund_reversal: 'Refund reversed',
  dispute: 'Dispute hold',
  dispute_won: 'Dispute won',
  dispute_lost: 'Dispute lost',
  collection: 'Debt repayment',
  call_payment: 'Payment for one call',
  call_payment_closed: 'Per-call payment remainder',
  carried_charges: 'Calls of an archived month',
  carried_credits: 'Credits for calls of an archived month',
}
