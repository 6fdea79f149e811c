import type { MemberRole } from '../../../src/core/accounts/member-permissions.ts'
import type {
  EndMembershipBody,
  InvitationBody,
  MemberBudgetBody,
  MemberPatch,
  MemberView,
  SentInvitationView,
} from '../../../src/core/api/organisations.ts'
import { path, requestJson } from '../../api/request.ts'
import { FormDialog, SecretDialog } from '../../components/feedback/dialogs.tsx'
import { EMAIL } from '../../components/form/field-specs.ts'
import type { FieldSpec } from '../../components/form/form.tsx'
import { TwoLines } from '../../components/table/data-table.tsx'
import { BudgetBar } from '../../components/text/budget-bar.tsx'
import { Money } from '../../components/text/money.tsx'
import { BASE_PATH } from '../../lib/base-path.ts'
import { spendingLimitProblem } from '../../lib/checks.ts'
import { roleOptions } from './roles.ts'

const STALE = ['/console/api/members']

export const InviteDialog = ({ isOwner, onClose }: { isOwner: boolean; onClose: () => void }) => (
  <FormDialog
    title="Invite a member"
    submit="Invite"
    pending="Inviting …"
    fields={{ email: EMAIL, role: { label: 'Role', initial: 'developer', options: roleOptions(isOwner) } }}
    send={({ email, role }) =>
      requestJson<SentInvitationView>('POST', '/console/api/members/invitations', {
        email,
        role: role as MemberRole,
      } satisfies InvitationBody)
    }
    stale={STALE}
    done={({ link }) => (link === null ? 'Invitation sent.' : 'Invitation created.')}
    then={({ link }, close) => link !== null && <InvitationLinkDialog link={link} onClose={close} />}
    onClose={onClose}
    foot={<p className="text-sm text-muted">The link is valid for 7 days.</p>}
  />
)

/** The link of an invitation, where the gateway cannot send it. */
export const InvitationLinkDialog = ({ link, onClose }: { link: string; onClose: () => void }) => (
  <SecretDialog
    title="Send this link yourself"
    secret={window.location.origin + BASE_PATH + link}
    of="the invitation link"
    copy="Copy link"
    warning="Email isn't set up. Copy this link and send it to them yourself: they sign in or sign up with the address that you entered."
    onClose={onClose}
  />
)

export function RoleDialog(props: { member: MemberView; isOwner: boolean; onClose: () => void }) {
  const { member, isOwner, onClose } = props
  return (
    <FormDialog
      title="Change role"
      submit="Change role"
      fields={{
        role: { label: `Role of ${member.email}`, initial: member.role, options: roleOptions(isOwner) },
      }}
      send={({ role }) =>
        requestJson('PATCH', path`/console/api/members/${member.id}`, {
          role: role as MemberRole,
        } satisfies MemberPatch)
      }
      stale={[...STALE, '/console/api/visitor']}
      done="Role changed."
      onClose={onClose}
    />
  )
}

export function RemoveMemberDialog(props: {
  member: MemberView
  members: readonly MemberView[]
  onClose: () => void
}) {
  const { member, members, onClose } = props
  return (
    <FormDialog
      title={`Remove ${member.email}?`}
      submit="Remove member"
      pending="Removing …"
      kind="danger"
      fields={{ keys_go_to: keysGoTo(member, members) }}
      send={({ keys_go_to: to }) =>
        requestJson('POST', path`/console/api/members/${member.id}/remove`, endOf(to))
      }
      stale={[...STALE, '/console/api/keys']}
      done="Member removed."
      onClose={onClose}
    >
      {({ input }) => (
        <>
          <p>They lose access at once. Their personal account stays as it is.</p>
          {member.keys > 0 && input('keys_go_to')}
        </>
      )}
    </FormDialog>
  )
}

/** Asks what is done with the keys of a member who leaves. */
export const keysGoTo = (member: MemberView | undefined, members: readonly MemberView[]): FieldSpec => ({
  label: member?.keys === 1 ? 'Their API key' : `Their ${member?.keys} API keys`,
  options: [
    { value: '', name: 'Revoke' },
    ...members
      .filter(({ id, role }) => id !== member?.id && role !== 'billing')
      .map(({ id, email }) => ({ value: id, name: `Hand over to ${email}` })),
  ],
  hint: 'Either way, the present secrets stop working at once. Keys that are handed over get new secrets on their pages.',
})

/** `to`: a member's id; empty: the keys are revoked. */
export const endOf = (to: string): EndMembershipBody => (to === '' ? {} : { keys_go_to: to })

/** What a member may spend in a month, and how much of it is spent. */
export function MemberBudget({ member }: { member: MemberView }) {
  const { monthly_budget_usd: budget, spent_usd: spent } = member
  if (budget === null) return 'none'
  return (
    <TwoLines second={<BudgetBar spent={spent} limit={budget} />}>
      <Money usd={budget} />
    </TwoLines>
  )
}

export const BudgetDialog = ({ member, onClose }: { member: MemberView; onClose: () => void }) => (
  <FormDialog
    title={`Budget of ${member.email}`}
    submit="Save"
    fields={{
      monthly_budget_usd: {
        label: 'Budget per month (USD)',
        initial: member.monthly_budget_usd ?? '',
        inputMode: 'decimal',
        placeholder: 'no budget',
        hint: 'For all API keys that the member created. Requests that could exceed it are refused until the month (UTC) is over. Leave empty for no budget.',
        check: spendingLimitProblem,
      },
    }}
    send={({ monthly_budget_usd: usd }) =>
      requestJson('PATCH', path`/console/api/members/${member.id}/budget`, {
        monthly_budget_usd: usd || null,
      } satisfies MemberBudgetBody)
    }
    stale={['/console/api/members']}
    done="Budget saved."
    onClose={onClose}
  />
)
