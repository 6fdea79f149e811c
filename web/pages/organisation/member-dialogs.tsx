import type { MemberRole } from '../../../src/core/accounts/member-permissions.ts'
import type {
  EndMembershipBody,
  InvitationBody,
  MemberPatch,
  MemberView,
  SentInvitationView,
} from '../../../src/core/api/organisations.ts'
import { path, requestJson } from '../../api/request.ts'
import { DialogBox, FormDialog } from '../../components/feedback/dialogs.tsx'
import { Button } from '../../components/form/button.tsx'
import { SelectField, TextField } from '../../components/form/fields.tsx'
import { CodeBlock } from '../../components/text/copy.tsx'
import { BASE_PATH } from '../../lib/base-path.ts'
import { emailProblem } from '../../lib/checks.ts'
import { roleOptions } from './roles.ts'

const STALE = ['/console/api/members']

export function InviteDialog(props: {
  isOwner: boolean
  onSent: (sent: SentInvitationView) => void
  onClose: () => void
}) {
  return (
    <FormDialog
      title="Invite a member"
      submit="Invite"
      pending="Inviting …"
      initial={{ email: '', role: 'developer' }}
      check={({ email }) => ({ email: emailProblem(email) })}
      send={({ email, role }) => {
        const body: InvitationBody = { email: email.trim(), role: role as MemberRole }
        return requestJson<SentInvitationView>('POST', '/console/api/members/invitations', body)
      }}
      stale={STALE}
      done={({ link }) => (link === null ? 'Invitation sent.' : 'Invitation created.')}
      onDone={props.onSent}
      onClose={props.onClose}
    >
      {(field) => (
        <>
          <TextField label="Email address" type="email" inputMode="email" {...field('email')} required />
          <SelectField label="Role" options={roleOptions(props.isOwner)} {...field('role')} />
          <p className="text-sm text-muted">The link is valid for 7 days.</p>
        </>
      )}
    </FormDialog>
  )
}

/** The link of an invitation, where the gateway cannot send it. */
export function InvitationLinkDialog({ link, onClose }: { link: string; onClose: () => void }) {
  return (
    <DialogBox title="Send this link yourself" sticky onClose={onClose}>
      <p>
        This gateway delivers no email. Give the link to the person you invited: they open it, and sign in or
        sign up with the address that you entered.
      </p>
      <CodeBlock code={window.location.origin + BASE_PATH + link} of="the invitation link" wraps />
      <div className="row justify-end">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </DialogBox>
  )
}

export function RoleDialog(props: { member: MemberView; isOwner: boolean; onClose: () => void }) {
  const { member, isOwner, onClose } = props
  return (
    <FormDialog
      title="Change role"
      submit="Change role"
      pending="Saving …"
      initial={{ role: member.role as string }}
      send={({ role }) =>
        requestJson('PATCH', path`/console/api/members/${member.id}`, {
          role: role as MemberRole,
        } satisfies MemberPatch)
      }
      stale={[...STALE, '/console/api/visitor']}
      done="Role changed."
      onClose={onClose}
    >
      {(field) => (
        <SelectField label={`Role of ${member.email}`} options={roleOptions(isOwner)} {...field('role')} />
      )}
    </FormDialog>
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
      initial={{ keys_go_to: '' }}
      send={({ keys_go_to: to }) =>
        requestJson('POST', path`/console/api/members/${member.id}/remove`, endOf(to))
      }
      stale={[...STALE, '/console/api/keys']}
      done="Member removed."
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>They lose access at once. Their personal account stays as it is.</p>
          <KeysGoTo member={member} members={members} field={field('keys_go_to')} />
        </>
      )}
    </FormDialog>
  )
}

/** Asks what becomes of the keys of a member who goes. */
export function KeysGoTo(props: {
  member: MemberView
  members: readonly MemberView[]
  field: { value: string; onChange: (text: string) => void; error: string | null }
}) {
  const { member, members, field } = props
  if (member.keys === 0) return null
  const others = members.filter(({ id, role }) => id !== member.id && role !== 'billing')
  return (
    <SelectField
      label={member.keys === 1 ? 'Their API key' : `Their ${member.keys} API keys`}
      options={[
        { value: '', name: 'Revoke' },
        ...others.map(({ id, email }) => ({ value: id, name: `Hand over to ${email}` })),
      ]}
      hint="Either way, the present secrets stop working at once. Keys that are handed over get new secrets on their pages."
      {...field}
    />
  )
}

/** `to`: a member's id; empty: the keys are revoked. */
export const endOf = (to: string): EndMembershipBody => (to === '' ? {} : { keys_go_to: to })
