import { useState } from 'react'
import type { BalanceChanged, OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { newReference, requestJson } from '../../../api/request.ts'
import { FormDialog, useForm } from '../../../components/form/form.tsx'
import { TextField } from '../../../components/form/text-field.tsx'
import { Money } from '../../../components/text/values.tsx'
import { changeProblem, creditProblem } from '../../../lib/checks.ts'
import { formatAmount } from '../../../lib/format.ts'

/** Gives an account credit, or adjusts its balance with a reason. */
export function BalanceDialog(props: {
  account: OperatorAccountDetail
  kind: 'credit' | 'adjust'
  onClose: () => void
}) {
  const { account, kind, onClose } = props
  const isCredit = kind === 'credit'
  // One for as long as the dialog is open: a retry after a lost response posts once.
  const [reference] = useState(newReference)
  const form = useForm({
    initial: { amount_usd: '', reason: '' },
    check: ({ amount_usd: amount, reason }) => ({
      amount_usd: isCredit ? creditProblem(amount) : changeProblem(amount),
      reason: !isCredit && reason.trim() === '' ? 'Enter a reason; it is recorded in the ledger.' : null,
    }),
    send: ({ amount_usd: amount, reason }) =>
      requestJson<BalanceChanged>(
        'POST',
        `${OPERATOR_API}/accounts/${encodeURIComponent(account.id)}/${kind}`,
        {
          body: { amount_usd: amount.trim(), reference, ...(!isCredit && { reason: reason.trim() }) },
        },
      ),
    stale: [['operator']],
    done: ({ balance_usd: usd, spendable_now: isSpendable }) =>
      `The balance is ${formatAmount(usd)}${isSpendable ? '.' : '; it can be spent in a moment.'}`,
    onDone: onClose,
  })
  return (
    <FormDialog
      title={isCredit ? 'Credit this account' : 'Adjust the balance'}
      form={form}
      submit={isCredit ? 'Give the credit' : 'Post the adjustment'}
      pending="Posting …"
      onClose={onClose}
    >
      <p>
        The balance of <strong>{account.email}</strong> is <Money usd={account.balance_usd} />. The amount is
        posted to the ledger at once and permanently: only another adjustment reverses it.
      </p>
      <TextField
        label={isCredit ? 'Amount to give, USD' : 'Change, USD'}
        {...form.field('amount_usd')}
        inputMode={isCredit ? 'decimal' : 'text'}
        placeholder={isCredit ? '5.00' : '-1.25'}
        hint={!isCredit && 'A minus reduces the balance, never below zero.'}
        required
      />
      {!isCredit && <TextField label="Reason" {...form.field('reason')} required />}
    </FormDialog>
  )
}
