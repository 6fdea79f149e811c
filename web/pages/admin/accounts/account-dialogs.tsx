import { useState } from 'react'
import type {
  AccountLimitsRequest,
  BalanceChanged,
  OperatorAccountDetail,
  SuspendRequest,
} from '../../../../src/core/api/accounts.ts'
import { newReference, path, requestJson } from '../../../api/request.ts'
import { FormDialog } from '../../../components/feedback/dialogs.tsx'
import { TextField } from '../../../components/form/fields.tsx'
import { Money } from '../../../components/text/money.tsx'
import { changeProblem, creditProblem, wholeNumberProblem } from '../../../lib/checks.ts'
import { formatAmount } from '../../../lib/format.ts'
import { RateLimitFields } from '../../keys/key-fields.tsx'

interface AccountDialogProps {
  account: OperatorAccountDetail
  onClose: () => void
}

/** Gives an account credit, or adjusts its balance with a reason. */
export function BalanceDialog({
  account,
  kind,
  onClose,
}: AccountDialogProps & { kind: 'credit' | 'adjust' }) {
  const isCredit = kind === 'credit'
  // One for as long as the dialog is open: a retry after a lost response posts once.
  const [reference] = useState(newReference)
  return (
    <FormDialog
      title={isCredit ? 'Add credit' : 'Adjust balance'}
      submit={isCredit ? 'Add credit' : 'Post adjustment'}
      pending="Posting …"
      initial={{ amount_usd: '', reason: '' }}
      check={({ amount_usd: amount, reason }) => ({
        amount_usd: isCredit ? creditProblem(amount) : changeProblem(amount),
        reason: !isCredit && reason.trim() === '' ? 'Enter a reason for the ledger.' : null,
      })}
      send={({ amount_usd: amount, reason }) =>
        requestJson<BalanceChanged>('POST', path`/admin/api/accounts/${account.id}/${kind}`, {
          amount_usd: amount.trim(),
          reference,
          ...(reason.trim() !== '' && { reason: reason.trim() }),
        })
      }
      stale={['/admin/api']}
      done={({ balance_usd: usd, spendable_now: isSpendable }) =>
        `The balance is now ${formatAmount(usd)}${isSpendable ? '.' : '; it can be spent in a moment.'}`
      }
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>
            The balance of <strong>{account.name}</strong> is <Money usd={account.balance_usd} />. The amount
            is posted to the ledger immediately and can only be reversed by another adjustment.
          </p>
          <TextField
            label={isCredit ? 'Amount (USD)' : 'Change (USD)'}
            {...field('amount_usd')}
            inputMode={isCredit ? 'decimal' : 'text'}
            placeholder={isCredit ? '5.00' : '-1.25'}
            hint={!isCredit && 'A negative amount reduces the balance, never below zero.'}
            required
          />
          <TextField
            label="Reason"
            {...field('reason')}
            required={!isCredit}
            hint={isCredit && 'Optional. Shown in the ledger and to the customer.'}
          />
        </>
      )}
    </FormDialog>
  )
}

const SUSPENSION = {
  suspend: {
    title: 'Suspend this account?',
    what: 'All its requests will fail immediately, and its console sessions end. Running calls complete and are charged. The balance stays.',
    submit: 'Suspend account',
    done: 'suspended.',
    kind: 'danger',
  },
  resume: {
    title: 'Resume this account?',
    what: 'Its keys work again immediately, and its owner can sign in.',
    submit: 'Resume account',
    done: 'resumed.',
    kind: 'primary',
  },
} as const

/** Suspends or resumes an account, with a reason for the audit log. */
export function SuspendDialog(props: AccountDialogProps & { verb: keyof typeof SUSPENSION }) {
  const { account, verb, onClose } = props
  const { what, done, ...texts } = SUSPENSION[verb]
  return (
    <FormDialog
      {...texts}
      pending="Working …"
      initial={{ reason: '' }}
      check={({ reason }) => ({
        reason: reason.trim() === '' ? 'Enter a reason for the audit log.' : null,
      })}
      send={({ reason }) =>
        requestJson('POST', path`/admin/api/accounts/${account.id}/${verb}`, {
          reason: reason.trim(),
        } satisfies SuspendRequest)
      }
      stale={['/admin/api']}
      done={`${account.name} ${done}`}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>
            <strong>{account.name}</strong>: {what}
          </p>
          <TextField label="Reason" {...field('reason')} required />
        </>
      )}
    </FormDialog>
  )
}

/** Sets the limits of all keys of an account together. */
export function LimitsDialog({ account, onClose }: AccountDialogProps) {
  const numberOf = (text: string) => (text === '' ? null : Number(text))
  return (
    <FormDialog
      title="Limits of this account"
      submit="Save limits"
      pending="Saving …"
      initial={{
        requests_per_minute: String(account.requests_per_minute ?? ''),
        concurrent_calls: String(account.concurrent_calls ?? ''),
      }}
      check={(values) => ({
        requests_per_minute: wholeNumberProblem(values.requests_per_minute),
        concurrent_calls: wholeNumberProblem(values.concurrent_calls),
      })}
      send={({ requests_per_minute, concurrent_calls }) =>
        requestJson('POST', path`/admin/api/accounts/${account.id}/limits`, {
          requests_per_minute: numberOf(requests_per_minute),
          concurrent_calls: numberOf(concurrent_calls),
        } satisfies AccountLimitsRequest)
      }
      stale={['/admin/api/accounts/']}
      done={`Limits of ${account.name} saved.`}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>
            The limits apply within a second to all keys of the account together. Each key has its own limits,
            too.
          </p>
          <RateLimitFields field={field} />
        </>
      )}
    </FormDialog>
  )
}
