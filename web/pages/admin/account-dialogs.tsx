import { useState } from 'react'
import type { BalanceChanged, OperatorAccountDetail, SuspendRequest } from '../../../src/core/api/accounts.ts'
import type { KeyLimitsRequest, LimitResetName, OperatorKey } from '../../../src/core/api/keys.ts'
import { newReference, path, requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { Money } from '../../components/text/values.tsx'
import { changeProblem, creditProblem, spendingLimitProblem, wholeNumberProblem } from '../../lib/checks.ts'
import { formatAmount } from '../../lib/format.ts'
import { RateLimitFields, SpendingLimitFields } from '../keys/key-dialogs.tsx'

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
      title={isCredit ? 'Credit this account' : 'Adjust the balance'}
      submit={isCredit ? 'Give the credit' : 'Post the adjustment'}
      pending="Posting …"
      initial={{ amount_usd: '', reason: '' }}
      check={({ amount_usd: amount, reason }) => ({
        amount_usd: isCredit ? creditProblem(amount) : changeProblem(amount),
        reason: !isCredit && reason.trim() === '' ? 'Enter a reason; it is recorded in the ledger.' : null,
      })}
      send={({ amount_usd: amount, reason }) =>
        requestJson<BalanceChanged>('POST', path`/admin/api/accounts/${account.id}/${kind}`, {
          amount_usd: amount.trim(),
          reference,
          ...(!isCredit && { reason: reason.trim() }),
        })
      }
      stale={['/admin/api']}
      done={({ balance_usd: usd, spendable_now: isSpendable }) =>
        `The balance is ${formatAmount(usd)}${isSpendable ? '.' : '; it can be spent in a moment.'}`
      }
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>
            The balance of <strong>{account.email}</strong> is <Money usd={account.balance_usd} />. The amount
            is posted to the ledger at once and permanently: only another adjustment reverses it.
          </p>
          <TextField
            label={isCredit ? 'Amount to give, USD' : 'Change, USD'}
            {...field('amount_usd')}
            inputMode={isCredit ? 'decimal' : 'text'}
            placeholder={isCredit ? '5.00' : '-1.25'}
            hint={!isCredit && 'A minus reduces the balance, never below zero.'}
            required
          />
          {!isCredit && <TextField label="Reason" {...field('reason')} required />}
        </>
      )}
    </FormDialog>
  )
}

const SUSPENSION = {
  suspend: {
    title: 'Suspend this account?',
    what: 'From the next second on all its calls and keys are refused, and its console sessions end. Running calls complete and are charged. Its balance stays.',
    submit: 'Suspend the account',
    done: 'is suspended.',
    kind: 'danger',
  },
  resume: {
    title: 'Resume this account?',
    what: 'Its keys work again from the next second on, and its holder can sign in.',
    submit: 'Resume the account',
    done: 'can make calls again.',
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
        reason: reason.trim() === '' ? 'Enter a reason; it is recorded with your key.' : null,
      })}
      send={({ reason }) =>
        requestJson('POST', path`/admin/api/accounts/${account.id}/${verb}`, {
          reason: reason.trim(),
        } satisfies SuspendRequest)
      }
      stale={['/admin/api']}
      done={`${account.email} ${done}`}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>
            <strong>{account.email}</strong>: {what}
          </p>
          <TextField label="Reason" {...field('reason')} required />
        </>
      )}
    </FormDialog>
  )
}

/** Sets the limits of a key, or of all keys of an account together. */
export function LimitsDialog({
  of,
  onClose,
}: {
  of: OperatorAccountDetail | OperatorKey
  onClose: () => void
}) {
  const key = 'hint' in of ? of : null
  const [owner, whose] = 'hint' in of ? ['keys', `“${of.name}”`] : ['accounts', of.email]
  const numberOf = (text: string) => (text === '' ? null : Number(text))
  return (
    <FormDialog
      title={`Limits of ${key ? whose : 'this account'}`}
      submit="Save the limits"
      pending="Saving …"
      initial={{
        limit_usd: key?.limit_usd ?? '',
        limit_reset: key?.limit_reset ?? 'none',
        requests_per_minute: String(of.requests_per_minute ?? ''),
        concurrent_calls: String(of.concurrent_calls ?? ''),
      }}
      check={(values) => ({
        limit_usd: values.limit_usd === key?.limit_usd ? null : spendingLimitProblem(values.limit_usd),
        requests_per_minute: wholeNumberProblem(values.requests_per_minute),
        concurrent_calls: wholeNumberProblem(values.concurrent_calls),
      })}
      send={({ limit_usd: limit, limit_reset: reset, requests_per_minute, concurrent_calls }) =>
        requestJson('POST', path`/admin/api/${owner}/${of.id}/limits`, {
          ...(key && { limit_usd: limit === '' ? null : limit, limit_reset: reset as LimitResetName }),
          requests_per_minute: numberOf(requests_per_minute),
          concurrent_calls: numberOf(concurrent_calls),
        } satisfies KeyLimitsRequest)
      }
      stale={['/admin/api/accounts/']}
      done={`The limits of ${whose} were set.`}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>
            {key
              ? 'They apply to calls from the next second on, at every instance.'
              : 'They apply to all keys of the account together, from the next second on. Each key has limits of its own.'}
          </p>
          {key && <SpendingLimitFields field={field} />}
          <RateLimitFields field={field} />
        </>
      )}
    </FormDialog>
  )
}
