import type { AccountLimitsRequest, OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { FormDialog, useForm } from '../../../components/form/form.tsx'
import { RateLimitFields } from '../../keys/limit-fields.tsx'
import { rateLimitBody, rateLimitProblems, rateLimitTexts } from './limits.ts'

/** Sets the limits of all keys of an account together. */
export function AccountLimitsDialog(props: { account: OperatorAccountDetail; onClose: () => void }) {
  const { account, onClose } = props
  const form = useForm({
    initial: rateLimitTexts(account),
    check: rateLimitProblems,
    send: (values) => {
      const body: AccountLimitsRequest = rateLimitBody(values)
      return requestJson('POST', `${OPERATOR_API}/accounts/${encodeURIComponent(account.id)}/limits`, {
        body,
      })
    },
    stale: [['operator', 'account']],
    done: `The limits of ${account.email} were set.`,
    onDone: onClose,
  })
  return (
    <FormDialog
      title="Limits of this account"
      form={form}
      submit="Save the limits"
      pending="Saving …"
      onClose={onClose}
    >
      <p>
        They apply to all keys of the account together, from the next second on. Each key has limits of its
        own.
      </p>
      <RateLimitFields field={form.field} />
    </FormDialog>
  )
}
