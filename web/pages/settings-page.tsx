import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { EmailChangeBody, PasswordBody, PersonView } from '../../src/core/api/sessions.ts'
import { gatewayQuery, sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { THEMES, useTheme } from '../app/theme.tsx'
import { FormDialog } from '../components/feedback/dialogs.tsx'
import { ActionButton } from '../components/form/action-button.tsx'
import { Button } from '../components/form/button.tsx'
import { CURRENT_PASSWORD, EMAIL, NEW_PASSWORD } from '../components/form/field-specs.ts'
import { ChoiceField } from '../components/form/fields.tsx'
import { PageForm } from '../components/form/form.tsx'
import { TimeZoneField } from '../components/form/time-zone-field.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { Identifier } from '../components/text/copy.tsx'
import { Facts } from '../components/text/values.tsx'
import { formatDate } from '../lib/format.ts'
import { useShownZone } from '../lib/time-zone.ts'
import { AccountDataPanel } from './settings/account-data-panel.tsx'
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

/** The panels of a page in one narrow column, by the names of their sections, and links to these beside it. */
function Sections({ of: sections }: { of: Readonly<Record<string, ReactNode>> }) {
  const names = Object.keys(sections)
  return (
    <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[9rem_minmax(0,40rem)] lg:gap-8">
      <nav className="lg:sticky lg:top-[calc(var(--banner)+1rem)]" aria-label="Sections of this page">
        <ul className="flex flex-wrap gap-1 lg:grid">
          {names.map((name) => (
            <li key={name}>
              <Link
                to="."
                hash={idOf(name)}
                className="nav-link min-h-8 w-full"
                activeOptions={{ includeHash: true }}
              >
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="stack gap-8">
        {names.map((name) => (
          <section key={name} id={idOf(name)} aria-label={name} className="stack scroll-mt-20 gap-6">
            {sections[name]}
          </section>
        ))}
      </div>
    </div>
  )
}

const idOf = (name: string): string => name.toLowerCase().replaceAll(' ', '-')

/** The address of who is signed in, and the ways to verify and to change it. */
function EmailAddress({ person }: { person: PersonView }) {
  const mail = useQuery(gatewayQuery).data?.mail
  const sent =
    mail === 'folder'
      ? 'The message with a link is in the mail folder of this gateway.'
      : 'A message with a link has been queued.'
  const hasMail = mail === 'smtp' || mail === 'folder'
  return (
    <span className="row gap-x-3 gap-y-1">
      <span className="wrap-anywhere">{person.email}</span>
      <span className="text-sm text-muted">{person.email_verified ? 'verified' : 'not verified'}</span>
      {hasMail && !person.email_verified && (
        <ActionButton
          size="small"
          action={{ send: () => requestJson('POST', '/console/api/verification-mails'), done: sent }}
        >
          Send verification link
        </ActionButton>
      )}
      {hasMail && (
        <Button size="small" dialog={(close) => <ChangeDialog sent={sent} onClose={close} />}>
          Change address
        </Button>
      )}
    </span>
  )
}

const ChangeDialog = ({ sent, onClose }: { sent: string; onClose: () => void }) => (
  <FormDialog
    title="Change email address"
    submit="Send link"
    pending="Sending …"
    fields={{ email: { ...EMAIL, label: 'New email address' }, current_password: CURRENT_PASSWORD }}
    send={(body: EmailChangeBody) => requestJson('POST', '/console/api/email-changes', body)}
    done={sent}
    onClose={onClose}
  >
    <p>The address changes when you open the link that is sent to the new one.</p>
  </FormDialog>
)
