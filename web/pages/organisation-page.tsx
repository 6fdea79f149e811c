import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import type { OrganisationBody } from '../../src/core/api/organisations.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { membersQuery, sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { FormDialog } from '../components/feedback/dialogs.tsx'
import { Button } from '../components/form/button.tsx'
import { TextField } from '../components/form/fields.tsx'
import { Form, Submit, useForm } from '../components/form/form.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { Identifier } from '../components/text/copy.tsx'
import { Facts } from '../components/text/values.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { formatDate } from '../lib/format.ts'
import { endOf, KeysGoTo } from './organisation/member-dialogs.tsx'
import { ROLES } from './organisation/roles.ts'
import { DeleteDialog } from './settings/account-data-panel.tsx'
import { LowBalanceForm } from './settings/low-balance-form.tsx'

/** The organisation that is acted on: its name, leaving and deleting it. */
export function OrganisationPage() {
  const { data: session } = useQuery(sessionQuery)
  const [open, setOpen] = useState<'leave' | 'delete' | null>(null)
  const close = () => setOpen(null)
  if (!session) return null
  const { account, balance, permissions } = session
  const isOwner = permissions.includes('ownership')
  return (
    <>
      <PageHead title="Organisation" />
      <Panel title="Account" padded>
        <div className="stack">
          <Facts
            rows={{
              Name: account.name,
              'Your role': `${ROLES[account.role].name}: ${ROLES[account.role].may}`,
              'Account ID': <Identifier id={account.id} of="the account ID" />,
              Created: formatDate(account.created_at),
            }}
          />
          {permissions.includes('settings') && <NameForm key={account.id} name={account.name} />}
        </div>
      </Panel>
      {permissions.includes('limits') && (
        <Panel title="Low balance" padded>
          <LowBalanceForm threshold={balance.low_balance_usd} />
        </Panel>
      )}
      <Panel title={isOwner ? 'Data, leaving and deleting' : 'Leaving'} padded>
        <div className="stack">
          <p>
            Whoever leaves loses access at once. The last owner cannot leave: make another member an owner, or
            delete the organisation.
          </p>
          <div className="row">
            {isOwner && (
              <a className="button" href={`${BASE_PATH}/console/api/organisation/export`} download>
                Download export
              </a>
            )}
            <Button kind="danger" onClick={() => setOpen('leave')}>
              Leave organisation
            </Button>
            {isOwner && (
              <Button kind="danger" onClick={() => setOpen('delete')}>
                Delete organisation
              </Button>
            )}
          </div>
        </div>
      </Panel>
      {open === 'leave' && (
        <LeaveDialog name={account.name} mayHandOver={permissions.includes('members')} onClose={close} />
      )}
      {open === 'delete' && <DeleteDialog session={session} onClose={close} />}
    </>
  )
}

function NameForm({ name }: { name: string }) {
  const client = useQueryClient()
  const form = useForm({
    initial: { name },
    check: (values) => ({ name: values.name.trim() === '' ? 'Enter a name.' : null }),
    send: (values) =>
      requestJson<SessionView>('PATCH', '/console/api/organisation', {
        name: values.name.trim(),
      } satisfies OrganisationBody),
    done: 'Saved.',
    onDone: (session) => client.setQueryData(sessionQuery.queryKey, session),
  })
  return (
    <Form form={form}>
      <TextField label="Name" {...form.field('name')} maxLength={80} required />
      <div>
        <Submit form={form} pending="Saving …">
          Save
        </Submit>
      </div>
    </Form>
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
      initial={{ keys_go_to: '' }}
      send={async ({ keys_go_to: to }) => {
        await requestJson('POST', '/console/api/organisation/leave', endOf(to))
        await router.navigate({ to: '/dashboard' })
      }}
      stale={['/console/api/visitor']}
      done={`You left ${name}.`}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>Only an invitation brings you back.</p>
          {list && you && mayHandOver && (
            <KeysGoTo member={you} members={list.data} field={field('keys_go_to')} />
          )}
          {you && !mayHandOver && you.keys > 0 && (
            <p>
              Your API keys are revoked. To keep them, ask an owner or admin to remove you and take them over.
            </p>
          )}
        </>
      )}
    </FormDialog>
  )
}
