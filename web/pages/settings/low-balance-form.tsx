import { useQueryClient } from '@tanstack/react-query'
import type { AccountPatch, SessionView } from '../../../src/core/api/sessions.ts'
import { sessionQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { TextField } from '../../components/form/fields.tsx'
import { Form, Submit, useForm } from '../../components/form/form.tsx'
import { isWholeCents } from '../../lib/checks.ts'

/** The balance below which the account is told. */
export function LowBalanceForm({ threshold }: { threshold: string | null }) {
  const client = useQueryClient()
  const form = useForm({
    initial: { low_balance_usd: threshold ?? '' },
    check: ({ low_balance_usd: usd }) => ({
      low_balance_usd:
        usd === '' || isWholeCents(usd) ? null : 'Enter an amount such as 5.00, or leave empty.',
    }),
    send: ({ low_balance_usd: usd }) => {
      const body: AccountPatch = { low_balance_usd: usd === '' ? null : usd }
      return requestJson<SessionView>('PATCH', '/console/api/account', body)
    },
    done: ({ balance }) => (balance.low_balance_usd === null ? 'Low-balance alert turned off.' : 'Saved.'),
    onDone: (session) => client.setQueryData(sessionQuery.queryKey, session),
  })
  return (
    <Form form={form}>
      <TextField
        label="Alert me below (USD)"
        {...form.field('low_balance_usd')}
        inputMode="decimal"
        placeholder="off"
        hint="You get an email, and your webhooks receive balance.low, when the balance falls to this amount. Leave empty to turn off."
      />
      <div>
        <Submit form={form} pending="Saving …">
          Save
        </Submit>
      </div>
    </Form>
  )
}
