import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { AccountPatch, PasswordBody, SessionView } from '../../src/core/api/sessions.ts'
import { sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { THEMES, useTheme } from '../app/theme.tsx'
import { ChoiceField, TextField } from '../components/form/fields.tsx'
import { Form, Submit, useForm } from '../components/form/form.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { Identifier } from '../components/text/copy.tsx'
import { Facts } from '../components/text/values.tsx'
import { isWholeCents, newPasswordProblem } from '../lib/checks.ts'
import { formatDate } from '../lib/format.ts'
import { AccountDataPanel } from './settings/account-data-panel.tsx'
import { EmailAddress } from './settings/email-address.tsx'
import { IdentitiesPanel } from './settings/identities-panel.tsx'
import { MailPreferences } from './settings/mail-preferences.tsx'
import { SecondFactorPanel } from './settings/second-factor-panel.tsx'
import { SessionsPanel } from './settings/sessions-panel.tsx'

/** The account itself, its theme, its messages, its password and its sessions. */
export function SettingsPage() {
  const { data: session } = useQuery(sessionQuery)
  const [theme, chooseTheme] = useTheme()
  if (!session) return null
  const { person } = session
  return (
    <>
      <PageHead title="Settings" />
      <Panel title="Account" padded>
        <Facts
          rows={{
            'Email address': <EmailAddress person={person} />,
            'Account ID': <Identifier id={person.id} of="the account ID" />,
            Created: formatDate(person.created_at),
          }}
        />
      </Panel>
      <Panel title="Appearance" padded>
        <ChoiceField label="Theme" value={theme} options={THEMES} onChange={chooseTheme} />
      </Panel>
      <Panel title="Low balance" padded>
        <LowBalanceForm threshold={session.balance.low_balance_usd} />
      </Panel>
      <Panel title="Email" padded>
        <MailPreferences person={person} />
      </Panel>
      <Panel title="Password" padded>
        <PasswordForm email={person.email} />
      </Panel>
      <SecondFactorPanel />
      <IdentitiesPanel />
      <SessionsPanel />
      <AccountDataPanel session={session} />
    </>
  )
}

function LowBalanceForm({ threshold }: { threshold: string | null }) {
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

function PasswordForm({ email }: { email: string }) {
  const form = useForm({
    initial: { current_password: '', new_password: '' },
    check: (values) => ({
      current_password: values.current_password === '' ? 'Enter your current password.' : null,
      new_password: newPasswordProblem(values.new_password),
    }),
    send: (body: PasswordBody & Record<string, string>) => requestJson('POST', '/console/api/password', body),
    done: 'Password changed. All other sessions have been signed out.',
    onDone: () => form.reset(),
  })
  return (
    <Form form={form}>
      {/* Tells password managers whose password this is. */}
      <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
      <TextField
        label="Current password"
        type="password"
        autoComplete="current-password"
        {...form.field('current_password')}
        required
      />
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        {...form.field('new_password')}
        hint="At least 10 characters. Changing it signs out all other sessions."
        required
      />
      <div>
        <Submit form={form} pending="Changing …">
          Change password
        </Submit>
      </div>
    </Form>
  )
}
