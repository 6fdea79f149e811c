import type { KeyLimitsRequest, OperatorKey } from '../../../../src/core/api/keys.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { FormDialog, useForm } from '../../../components/form/form.tsx'
import { spendingLimitProblem } from '../../../lib/checks.ts'
import { RateLimitFields, SpendingLimitFields } from '../../keys/limit-fields.tsx'
import { rateLimitBody, rateLimitProblems, rateLimitTexts } from './limits.ts'

/** Changes the limits of a key. */
export function KeyLimitsDialog({ apiKey, onClose }: { apiKey: OperatorKey; onClose: () => void }) {
  const form = useForm({
    initial: {
      limit_usd: apiKey.limit_usd ?? '',
      limit_reset: apiKey.limit_reset as string,
      ...rateLimitTexts(apiKey),
    },
    check: (values) => ({
      ...rateLimitProblems(values),
      limit_usd: values.limit_usd === apiKey.limit_usd ? null : spendingLimitProblem(values.limit_usd),
    }),
    send: ({ limit_usd: limit, limit_reset: reset, ...rates }) => {
      const body: KeyLimitsRequest = {
        limit_usd: limit === '' ? null : limit,
        limit_reset: reset as OperatorKey['limit_reset'],
        ...rateLimitBody(rates),
      }
      return requestJson('POST', `${OPERATOR_API}/keys/${encodeURIComponent(apiKey.id)}/limits`, { body })
    },
    stale: [['operator', 'account']],
    done: `The limits of “${apiKey.name}” were set.`,
    onDone: onClose,
  })
  return (
    <FormDialog
      title={`Limits of “${apiKey.name}”`}
      form={form}
      submit="Save the limits"
      pending="Saving …"
      onClose={onClose}
    >
      <p>They apply to calls from the next second on, at every instance.</p>
      <SpendingLimitFields field={form.field} />
      <RateLimitFields field={form.field} />
    </FormDialog>
  )
}
