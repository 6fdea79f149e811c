import { useState } from 'react'
import type {
  AccountLimitsRequest,
  BalanceChanged,
  OperatorAccountDetail,
  SuspendRequest,
} from '../../../../src/core/api/accounts.ts'
import { newReference, path, requestJson } from '../../../api/request.ts'
import { FormDialog } from '../../../components/feedback/dialogs.tsx'
import { AUDIT_REASON } from '../../../components/form/field-specs.ts'
import { Money } from '../../../components/text/money.tsx'
import { changeProblem, creditProblem } from '../../../lib/checks.ts'
import { formatAmount } from '../../../lib/format.ts'
import { numberOf, RateLimitInputs, rateLimitFields } from '../../keys/key-fields.tsx'

interface AccountDialogProps {
  account: OperatorAccountDetail
  onClose: () => void
}

/** Gives an account credit, or adjusts its balance with a reason. */
export function BalanceDialog(props: AccountDialogProps & { kind: 'credit' | 'adjust' }) {
  const { account, kind, onClose } = props
  const isCredit = kind === 'credit'
  // One for as long as the dialog is open: a retry after a lost response posts once.
  const [reference] = useState(newReference)
  return (
    <FormDialog
      title={isCredit ? 'Add credit' : 'Adjust balance'}
      submit={isCredit ? 'Add credit' : 'Post adjustment'}
      pending="Posting …"
      fields={{
        amount_usd: {
          label: isCredit ? 'Amount (USD)' : 'Change (USD)',
          inputMode: isCredit ? 'decimal' : 'text',
          placeholder: isCredit ? '5.00' : '-1.25',
          hint: !isCredit && 'A negative amount reduces the balance, never below zero.',
          required: true,
          check: isCredit ? creditProblem : changeProblem,
        },
        reason: {
          label: 'Reason',
          required: 'Enter a reason for the ledger.',
          hint: isCredit && 'Shown in the ledger and to the customer.',
        },
      }}
      send={({ amount_usd, reason }) =>
        requestJson<BalanceChanged>('POST', path`/admin/api/accounts/${account.id}/${kind}`, {
          ...{ amount_usd, reason, reference },
        })
      }
      stale={['/admin/api']}
      done={({ balance_usd: usd, spendable_now: isSpendable }) =>
        `The balance is now ${formatAmount(usd)}${isSpendable ? '.' : '; it can be spent in a moment.'}`
      }
      onClose={onClose}
    >
      <p>
        The balance of <strong>{account.name}</strong> is <Money usd={account.balance_usd} />. The amount is
        posted to the ledger immediately and can only be reversed by another adjustment.
      </p>
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
      fields={{ reason: AUDIT_REASON }}
      send={(body: SuspendRequest & Record<'reason', string>) =>
        requestJson('POST', path`/admin/api/accounts/${account.id}/${verb}`, body)
      }
      stale={['/admin/api']}
      done={`${account.name} ${done}`}
      onClose={onClose}
    >
      <p>
        <strong>{account.name}</strong>: {what}
      </p>
    </FormDialog>
  )
}

/** Sets the limits of all keys of an account together. */
export const LimitsDialog = ({ account, onClose }: AccountDialogProps) => (
  <FormDialog
    title="Limits of this account"
    submit="Save limits"
    fields={rateLimitFields(account)}
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
    {({ input }) => (
      <>
        <p>
          The limits apply within a second to all keys of the account together. Each key has its own limits,
          too.
        </p>
        <RateLimitInputs input={input} />
      </>
    )}
  </FormDialog>
)
