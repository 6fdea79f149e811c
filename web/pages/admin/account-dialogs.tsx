import { useState } from 'react'
import type {
  AccountLimitsRequest,
  BalanceChanged,
  OperatorAccountDetail,
  SuspendRequest,
} from '../../../src/core/api/accounts.ts'
import type { KeyLimitsRequest, OperatorKey } from '../../../src/core/api/keys.ts'
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

/** Sets the limits of all keys of an account together. */
export function AccountLimitsDialog({ account, onClose }: AccountDialogProps) {
  return (
    <FormDialog
      title="Limits of this account"
      submit="Save the limits"
      pending="Saving …"
      initial={rateLimitTexts(account)}
      check={rateLimitProblems}
      send={(values) =>
        requestJson(
          'POST',
          path`/admin/api/accounts/${account.id}/limits`,
          rateLimitBody(values) satisfies AccountLimitsRequest,
        )
      }
      stale={['/admin/api/accounts/']}
      done={`The limits of ${account.email} were set.`}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>
            They apply to all keys of the account together, from the next second on. Each key has limits of
            its own.
          </p>
          <RateLimitFields field={field} />
        </>
      )}
    </FormDialog>
  )
}

/** Changes the limits of a key. */
export function KeyLimitsDialog({ apiKey, onClose }: { apiKey: OperatorKey; onClose: () => void }) {
  return (
    <FormDialog
      title={`Limits of “${apiKey.name}”`}
      submit="Save the limits"
      pending="Saving …"
      initial={{
        limit_usd: apiKey.limit_usd ?? '',
        limit_reset: apiKey.limit_reset as string,
        ...rateLimitTexts(apiKey),
      }}
      check={(values) => ({
        ...rateLimitProblems(values),
        limit_usd: values.limit_usd === apiKey.limit_usd ? null : spendingLimitProblem(values.limit_usd),
      })}
      send={({ limit_usd: limit, limit_reset: reset, ...rates }) =>
        requestJson('POST', path`/admin/api/keys/${apiKey.id}/limits`, {
          limit_usd: limit === '' ? null : limit,
          limit_reset: reset as OperatorKey['limit_reset'],
          ...rateLimitBody(rates),
        } satisfies KeyLimitsRequest)
      }
      stale={['/admin/api/accounts/']}
      done={`The limits of “${apiKey.name}” were set.`}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>They apply to calls from the next second on, at every instance.</p>
          <SpendingLimitFields field={field} />
          <RateLimitFields field={field} />
        </>
      )}
    </FormDialog>
  )
}

type RateLimitTexts = { requests_per_minute: string; concurrent_calls: string }

/** What is wrong with typed rate limits. */
const rateLimitProblems = (values: RateLimitTexts) => ({
  requests_per_minute: wholeNumberProblem(values.requests_per_minute),
  concurrent_calls: wholeNumberProblem(values.concurrent_calls),
})

/** Typed rate limits as the API takes them; null: the default. */
const rateLimitBody = ({ requests_per_minute, concurrent_calls }: RateLimitTexts) => ({
  requests_per_minute: requests_per_minute === '' ? null : Number(requests_per_minute),
  concurrent_calls: concurrent_calls === '' ? null : Number(concurrent_calls),
})

/** Rate limits as they are typed. */
const rateLimitTexts = (limits: { [name in keyof RateLimitTexts]: number | null }): RateLimitTexts => ({
  requests_per_minute: String(limits.requests_per_minute ?? ''),
  concurrent_calls: String(limits.concurrent_calls ?? ''),
})
