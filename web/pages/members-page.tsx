import { useQuery } from '@tanstack/react-query'
import { UserPlus } from 'lucide-react'
import { useState } from 'react'
import type {
  InvitationView,
  MemberList,
  MemberView,
  SentInvitationView,
} from '../../src/core/api/organisations.ts'
import { membersQuery, sessionQuery } from '../api/queries.ts'
import { path, requestJson } from '../api/request.ts'
import { useAction } from '../api/use-change.ts'
import { QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { RowMenu } from '../components/form/row-menu.tsx'
import { useNewDialog } from '../components/form/use-new-dialog.ts'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { DataTable, TwoLines } from '../components/table/data-table.tsx'
import { Breakable } from '../components/text/code.tsx'
import { Money } from '../components/text/money.tsx'
import { Badge } from '../components/text/values.tsx'
import { formatDate, formatMoment } from '../lib/format.ts'
import {
  BudgetDialog,
  InvitationLinkDialog,
  InviteDialog,
  MemberBudget,
  RemoveMemberDialog,
  RoleDialog,
} from './organisation/member-dialogs.tsx'
import { ROLES } from './organisation/roles.ts'

/** Who may act on the organisation, and who is invited to. */
export function MembersPage() {
  const { data: session } = useQuery(sessionQuery)
  const query = useQuery(membersQuery)
  const inviting = useNewDialog()
  if (!session) return null
  const mayManage = session.permissions.includes('members')
  const isOwner = session.permissions.includes('ownership')
  return (
    <>
      <PageHead
        title="Members"
        description={`Manage who has access to ${session.account.name}.`}
        actions={
          mayManage && (
            <Button icon={UserPlus} kind="primary" onClick={inviting.open}>
              Invite member
            </Button>
          )
        }
      />
      <QueryView query={query}>
        {(list) => (
          <>
            <Members
              list={list}
              mayManage={mayManage}
              mayBudget={session.permissions.includes('limits')}
              isOwner={isOwner}
            />
            {list.invitations.length > 0 && (
              <Invitations invitations={list.invitations} mayManage={mayManage} isOwner={isOwner} />
            )}
          </>
        )}
      </QueryView>
      {mayManage && inviting.isOpen && <InviteDialog isOwner={isOwner} onClose={inviting.close} />}
    </>
  )
}

function Members(props: { list: MemberList; mayManage: boolean; mayBudget: boolean; isOwner: boolean }) {
  const { list, mayManage, mayBudget, isOwner } = props
  const mayChange = ({ role }: MemberView) => mayManage && (isOwner || role !== 'owner')
  return (
    <Panel title="Members">
      <DataTable
        caption="Members of the organisation"
        rows={list.data}
        numeric={['Keys', 'Spent this month']}
        columns={{
          Member: ({ email, is_you: isYou }) => (
            <span>
              <Breakable text={email} /> {isYou && <Badge>you</Badge>}
            </span>
          ),
          Role: ({ role }) => ROLES[role].name,
          Keys: ({ keys }) => keys,
          'Spent this month': ({ spent_usd: spent }) => <Money usd={spent} />,
          'Monthly budget': (one) => <MemberBudget member={one} />,
          Joined: ({ joined_at: at }) => formatDate(at),
          Actions:
            (mayManage || mayBudget) &&
            ((one) => (
              <RowMenu
                about={one.email}
                actions={[
                  mayBudget && {
                    name: 'Set budget',
                    dialog: (close) => <BudgetDialog member={one} onClose={close} />,
                  },
                  mayChange(one) && {
                    name: 'Change role',
                    dialog: (close) => <RoleDialog member={one} isOwner={isOwner} onClose={close} />,
                  },
                  mayChange(one) &&
                    !one.is_you && {
                      name: 'Remove',
                      dialog: (close) => (
                        <RemoveMemberDialog member={one} members={list.data} onClose={close} />
                      ),
                    },
                ]}
              />
            )),
        }}
      />
      <p className="panel-body text-sm text-muted">
        Budgets reset {formatMoment(list.budgets_reset_at)}. A budget covers all of a member's keys.
      </p>
    </Panel>
  )
}

const Invitations = (props: {
  invitations: readonly InvitationView[]
  mayManage: boolean
  isOwner: boolean
}) => (
  <Panel title="Invitations">
    <DataTable
      caption="Invitations that are not accepted yet"
      rows={props.invitations}
      columns={{
        'Email address': ({ email }) => <Breakable text={email} />,
        Role: ({ role }) => ROLES[role].name,
        Expires: ({ expires_at: at }) => (
          <TwoLines second={Date.parse(at) <= Date.now() && 'expired: resend it'}>
            {formatMoment(at)}
          </TwoLines>
        ),
        Actions:
          props.mayManage &&
          ((one) => (props.isOwner || one.role !== 'owner') && <InvitationActions invitation={one} />),
      }}
    />
  </Panel>
)

function InvitationActions({ invitation: { id, email } }: { invitation: InvitationView }) {
  const [link, setLink] = useState<string | null>(null)
  const address = path`/console/api/members/invitations/${id}`
  const stale = ['/console/api/members']
  const resend = useAction({
    send: () => requestJson<SentInvitationView>('POST', `${address}/resend`),
    stale,
    done: ({ link: sent }) =>
      sent === null ? 'Invitation sent again.' : 'The invitation is valid for another 7 days.',
    onDone: ({ link: sent }) => setLink(sent),
  })
  const revoke = useAction({
    send: () => requestJson('DELETE', address),
    stale,
    done: 'Invitation revoked.',
  })
  return (
    <>
      <RowMenu
        about={`the invitation of ${email}`}
        actions={[
          { name: 'Resend', run: () => resend.run() },
          { name: 'Revoke', run: () => revoke.run() },
        ]}
      />
      {link !== null && <InvitationLinkDialog link={link} onClose={() => setLink(null)} />}
    </>
  )
}
