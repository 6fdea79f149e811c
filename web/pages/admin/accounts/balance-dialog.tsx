import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { BalanceChanged, OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { DialogBox } from '../../../components/dialog-box.tsx'
import { Form } from '../../../components/form.tsx'
import { fieldError } from '../../../components/form-error.tsx'
import { Money } from '../../../components/money.tsx'
import { TextField } from '../../../components/text-field.tsx'
import { showToast } from '../../../components/toasts.tsx'
import { formatAmount } from '../../../lib/amounts.ts'
import { changeProblem, creditProblem } from '../../../lib/balance-form.ts'
import { newReference } from '../../../lib/new-reference.ts'

export type BalanceDeed = 'credit' | 'adjust'

interface BalanceDialogProps {
  account: OperatorAccountDetail
  /** Null: closed. */
  deed: BalanceDeed | null
  onClose: () => void
}

/** Gives an account credit, or corrects its balance with a reason. */
export function BalanceDialog({ account, deed, onClose }: BalanceDialogProps) {
  const title = deed === 'credit' ? 'Credit this account' : 'Adjust the balance'
  return (
    <DialogBox title={title} isOpen={deed !== null} onClose={onClose}>
      {deed && <BalanceForm account={account} deed={deed} onClose={onClose} />}
    </DialogBox>
  )
}

function BalanceForm({ account, deed, onClose }: BalanceDialogProps & { deed: BalanceDeed }) {
  const client = useQueryClient()
  const [amount, setAmount] = useState('')
  const [reason, setReason] = useState('')
  const [isChecked, setIsChecked] = useState(false)
  // One for as long as the dialog is open: sent again after a lost answer, it posts once.
  const [reference] = useState(newReference)
  const change = useMutation({
    mutationFn: (body: object) =>
      requestJson<BalanceChanged>(
        'POST',
        `${OPERATOR_API}/accounts/${encodeURIComponent(account.id)}/${deed}`,
        { body },
      ),
    onSuccess: ({ balance_usd: usd, spendable_now: isSpendable }) => {
      void client.invalidateQueries({ queryKey: ['operator'] })
      showToast(`The balance is ${formatAmount(usd)}${isSpendable ? '.' : '; it may be spent in a moment.'}`)
      onClose()
    },
  })
  const problems = {
    amount_usd: deed === 'credit' ? creditProblem(amount) : changeProblem(amount),
    reason: deed === 'adjust' && reason.trim() === '' ? 'Say why; it stands in the ledger.' : null,
  }
  const error = (field: 'amount_usd' | 'reason') =>
    (isChecked && problems[field]) || fieldError(change.error, field)
  const submit = () => {
    setIsChecked(true)
    if (problems.amount_usd !== null || problems.reason !== null) return
    const posting = { amount_usd: amount.trim(), reference }
    change.mutate(deed === 'credit' ? posting : { ...posting, reason: reason.trim() })
  }
  return (
    <Form error={change.error} fields={['amount_usd', 'reason']} onSubmit={submit}>
      <p>
        The balance of <strong>{account.email}</strong> is <Money usd={account.balance_usd} />. The amount is
        posted to the ledger at once, for good: only another adjustment takes it back.
      </p>
      <TextField
        label={deed === 'credit' ? 'Amount to give, USD' : 'Change, USD'}
        value={amount}
        onChange={setAmount}
        inputMode={deed === 'credit' ? 'decimal' : 'text'}
        placeholder={deed === 'credit' ? '5.00' : '-1.25'}
        hint={deed === 'adjust' ? 'With a minus it takes money away, never below zero.' : undefined}
        error={error('amount_usd')}
        required
      />
      {deed === 'adjust' && (
        <TextField label="Reason" value={reason} onChange={setReason} error={error('reason')} required />
      )}
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="button button-primary" disabled={change.isPending}>
          {change.isPending ? 'Posting …' : deed === 'credit' ? 'Give the credit' : 'Post the adjustment'}
        </button>
      </div>
    </Form>
  )
}
