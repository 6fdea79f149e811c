import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import type { OrganisationBody } from '../../src/core/api/organisations.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { membersQuery, sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { putSession } from '../api/session.ts'
import { FormDialog } from '../components/feedback/dialogs.tsx'
import { Button } from '../components/form/button.tsx'
import { PageForm } from '../components/form/form.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { Identifier } from '../components/text/copy.tsx'
import { Facts } from '../components/text/values.tsx'
import { formatDate } from '../lib/format.ts'
import { endOf, keysGoTo } from './organisation/member-dialogs.tsx'
import { ROLES } from './organisation/roles.ts'
import { DeleteDialog, ExportPanel } from './settings/account-data-panel.tsx'
import { LowBalanceForm } from './settings/low-balance-form.tsx'

/** The organisation that is acted on: its name, leaving and deleting it. */
export function OrganisationPage() {
  const { data: session } = useQuery(sessionQuery)
  if (!session) return null
  const { account, balance, permissions } = session
  const isOwner = permissions.includes('ownership')
  return (
    <>
      <PageHead title="Organisation" />
      <div className="stack max-w-160 gap-6">
        <Panel title="Account" padded>
          <Facts
            rows={{
              Name: account.name,
              'Your role': `${ROLES[account.role].name}: ${ROLES[account.role].may}`,
              'Account ID': <Identifier id={account.id} of="the account ID" />,
              Created: formatDate(account.created_at),
            }}
          />
          {permissions.includes('settings') && <NameForm key={account.id} name={account.name} />}
        </Panel>
        {permissions.includes('limits') && (
          <Panel title="Low balance" padded>
            <LowBalanceForm threshold={balance.low_balance_usd} />
          </Panel>
        )}
        {isOwner && (
          <ExportPanel of="organisation">
            The export has the account, its members, keys, top-ups and ledger without any secret.
          </ExportPanel>
        )}
        <Panel title="Danger zone" padded>
          <p>
            Leaving removes your access immediately. The last owner cannot leave: make another member an
            owner, or delete the organisation.
          </p>
          <div className="row">
            <Button
              dialog={(close) => (
                <LeaveDialog
                  name={account.name}
                  mayHandOver={permissions.includes('members')}
                  onClose={close}
                />
              )}
            >
              Leave organisation
            </Button>
            {isOwner && (
              <Button dialog={(close) => <DeleteDialog session={session} onClose={close} />}>
                Delete organisation
              </Button>
            )}
          </div>
        </Panel>
      </div>
    </>
  )
}

function NameForm({ name }: { name: string }) {
  const client = useQueryClient()
  return (
    <PageForm
      fields={{ name: { label: 'Name', initial: name, maxLength: 80, required: 'Enter a name.' } }}
      send={(body: OrganisationBody) => requestJson<SessionView>('PATCH', '/console/api/organisation', body)}
      done="Saved."
      onDone={(session) => putSession(client, session)}
    />
  )
}

function LeaveDialog(props: { name: string; mayHandOver: boolean; onClose: () => void }) {
  const { name, mayHandOver, onClose } = props
  const router = useRouter()
  const { data: list } = useQuery(membersQuery)
  const you = list?.data.find((member) => member.is_you)
  return (
    <FormDialog
      title={`Leave ${name}?`}
      submit="Leave organisation"
      pending="Leaving …"
      kind="danger"
      fields={{ keys_go_to: keysGoTo(you, list?.data ?? []) }}
      send={async ({ keys_go_to: to }) => {
        await requestJson('POST', '/console/api/organisation/leave', endOf(to))
        await router.navigate({ to: '/dashboard' })
      }}
      stale={['/console/api/visitor']}
      done={`You left ${name}.`}
      onClose={onClose}
    >
      {({ input }) => (
        <>
          <p>Only an invitation brings you back.</p>
          {you && you.keys > 0 && mayHandOver && input('keys_go_to')}
          {you && you.keys > 0 && !mayHandOver && (
            <p>
              Your API keys are revoked. To keep them, ask an owner or admin to remove you and take them over.
            </p>
          )}
        </>
      )}
    </FormDialog>
  )
}
