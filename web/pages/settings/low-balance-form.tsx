import { useQueryClient } from '@tanstack/react-query'
import type { AccountPatch, SessionView } from '../../../src/core/api/sessions.ts'
import { requestJson } from '../../api/request.ts'
import { putSession } from '../../api/session.ts'
import { PageForm } from '../../components/form/form.tsx'
import { isWholeCents } from '../../lib/checks.ts'

/** Sets the balance below which the account gets an alert. */
export function LowBalanceForm({ threshold }: { threshold: string | null }) {
  const client = useQueryClient()
  return (
    <PageForm
      fields={{
        low_balance_usd: {
          label: 'Alert me below (USD)',
          initial: threshold ?? '',
          inputMode: 'decimal',
          placeholder: 'off',
          hint: 'You get an email, and your webhooks receive balance.low, when the balance falls to this amount. Leave empty to turn off.',
          check: (usd) =>
            usd === '' || isWholeCents(usd) ? null : 'Enter an amount such as 5.00, or leave empty.',
        },
      }}
      send={({ low_balance_usd: usd }) =>
        requestJson<SessionView>('PATCH', '/console/api/account', {
          low_balance_usd: usd || null,
        } satisfies AccountPatch)
      }
      done={({ balance }) => (balance.low_balance_usd === null ? 'Low-balance alert turned off.' : 'Saved.')}
      onDone={(session) => putSession(client, session)}
    />
  )
}
