import { useQuery } from '@tanstack/react-query'
import type { PasswordBody } from '../../src/core/api/sessions.ts'
import { sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { THEMES, useTheme } from '../app/theme.tsx'
import { ChoiceField, TextField } from '../components/form/fields.tsx'
import { Form, Submit, useForm } from '../components/form/form.tsx'
import { TimeZoneField } from '../components/form/time-zone-field.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { Identifier } from '../components/text/copy.tsx'
import { Facts } from '../components/text/values.tsx'
import { newPasswordProblem } from '../lib/checks.ts'
import { formatDate } from '../lib/format.ts'
import { useShownZone } from '../lib/time-zone.ts'
import { AccountDataPanel } from './settings/account-data-panel.tsx'
import { EmailAddress } from './settings/email-address.tsx'
import { IdentitiesPanel } from './settings/identities-panel.tsx'
import { LowBalanceForm } from './settings/low-balance-form.tsx'
import { MailPreferences } from './settings/mail-preferences.tsx'
import { SecondFactorPanel } from './settings/second-factor-panel.tsx'
import { SessionsPanel } from './settings/sessions-panel.tsx'

/** The person and their account, the theme, its messages, its password and its sessions. */
export function SettingsPage() {
  const { data: session } = useQuery(sessionQuery)
  const [theme, chooseTheme] = useTheme()
  useShownZone()
  if (!session) return null
  const { account, person } = session
  return (
    <>
      <PageHead
        title="Settings"
        description={account.is_organisation && 'These are yours, whatever account you act on.'}
      />
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
        <div className="stack">
          <ChoiceField label="Theme" value={theme} options={THEMES} onChange={chooseTheme} />
          <TimeZoneField hint="Of all times on these pages, in this browser. Statements, invoices and receipts are in UTC." />
        </div>
      </Panel>
      {!account.is_organisation && (
        <Panel title="Low balance" padded>
          <LowBalanceForm threshold={session.balance.low_balance_usd} />
        </Panel>
      )}
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
