import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { PasswordBody } from '../../src/core/api/sessions.ts'
import { sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { THEMES, useTheme } from '../app/theme.tsx'
import { CURRENT_PASSWORD, NEW_PASSWORD } from '../components/form/field-specs.ts'
import { ChoiceField } from '../components/form/fields.tsx'
import { PageForm } from '../components/form/form.tsx'
import { TimeZoneField } from '../components/form/time-zone-field.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { Sections } from '../components/layout/sections.tsx'
import { Identifier } from '../components/text/copy.tsx'
import { Facts } from '../components/text/values.tsx'
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
      <Sections
        of={{
          Profile: (
            <>
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
                <TimeZoneField hint="Applies to all times in this browser. Statements, invoices and receipts are in UTC." />
              </Panel>
            </>
          ),
          Security: (
            <>
              <Panel title="Password" padded>
                <PasswordForm email={person.email} />
              </Panel>
              <SecondFactorPanel />
              <IdentitiesPanel />
              <SessionsPanel />
            </>
          ),
          Notifications: (
            <>
              {!account.is_organisation && (
                <Panel title="Low balance" padded>
                  <LowBalanceForm threshold={session.balance.low_balance_usd} />
                </Panel>
              )}
              <Panel title="Email" padded>
                <MailPreferences person={person} />
              </Panel>
            </>
          ),
          Data: <AccountDataPanel session={session} />,
        }}
      />
    </>
  )
}

function PasswordForm({ email }: { email: string }) {
  // An empty form follows each change.
  const [changes, setChanges] = useState(0)
  return (
    <PageForm
      key={changes}
      fields={{
        current_password: CURRENT_PASSWORD,
        new_password: {
          ...NEW_PASSWORD,
          hint: 'At least 10 characters. Changing it signs out all other sessions.',
        },
      }}
      send={(body: PasswordBody) => requestJson('POST', '/console/api/password', body)}
      done="Password changed. All other sessions have been signed out."
      onDone={() => setChanges(changes + 1)}
      pending="Changing …"
      submit="Change password"
    >
      {({ input }) => (
        <>
          {/* For password managers: the account of the password. */}
          <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
          {input('current_password')}
          {input('new_password')}
        </>
      )}
    </PageForm>
  )
}
