import type { AccountInvited, AccountOpened, NewAccountRequest } from '../../../../src/core/api/accounts.ts'
import { path, requestJson } from '../../../api/request.ts'
import { ConfirmDialog, FormDialog, SecretDialog } from '../../../components/feedback/dialogs.tsx'
import { TextField } from '../../../components/form/fields.tsx'
import { creditProblem, emailProblem } from '../../../lib/checks.ts'
import { gatewayAddress } from '../../../lib/gateway-address.ts'

/** Opens an account for a customer. */
export function NewAccountDialog(props: { onClose: () => void; onOpened: (opened: AccountOpened) => void }) {
  return (
    <FormDialog
      title="Create account"
      submit="Create account"
      pending="Creating …"
      initial={{ email: '', credit_usd: '', reason: '' }}
      check={({ email, credit_usd: credit }) => ({
        email: emailProblem(email),
        credit_usd: credit.trim() === '' ? null : creditProblem(credit),
      })}
      send={({ email, credit_usd: credit, reason }) =>
        requestJson<AccountOpened>('POST', '/admin/api/accounts', {
          email: email.trim(),
          ...(credit.trim() !== '' && { credit_usd: credit.trim() }),
          ...(credit.trim() !== '' && reason.trim() !== '' && { reason: reason.trim() }),
        } satisfies NewAccountRequest)
      }
      stale={['/admin/api']}
      done={({ account }) => `Account ${account.name} created.`}
      onDone={props.onOpened}
      onClose={props.onClose}
    >
      {(field) => (
        <>
          <TextField label="Email address" type="email" {...field('email')} required />
          <TextField
            label="Starting credit (USD)"
            {...field('credit_usd')}
            inputMode="decimal"
            placeholder="none"
            hint="Posted to the ledger immediately."
          />
          <TextField
            label="Reason for the credit"
            {...field('reason')}
            hint="Optional. Shown in the ledger and to the customer."
          />
          <p className="text-sm text-muted">
            The customer gets a message with a link to choose a password. Where this gateway sends no email,
            you get the link to pass on.
          </p>
        </>
      )}
    </FormDialog>
  )
}

/** Sends the holder of an account a link to choose a password, or gets it to pass on. */
export function InviteDialog(props: {
  account: { id: string; name: string }
  onClose: () => void
  onInvited: (invited: AccountInvited) => void
}) {
  const { account, onClose, onInvited } = props
  return (
    <ConfirmDialog
      title="Send a password link?"
      confirm="Send link"
      send={() => requestJson<AccountInvited>('POST', path`/admin/api/accounts/${account.id}/invite`)}
      stale={['/admin/api']}
      done={({ mailed }) => (mailed ? `A message to ${account.name} is on its way.` : 'Link created.')}
      onDone={onInvited}
      onClose={onClose}
    >
      <p>
        With the link the holder of <strong>{account.name}</strong> chooses a password. It is valid for 7 days
        and works once. Where this gateway sends no email, the link is shown here.
      </p>
    </ConfirmDialog>
  )
}

/** The one time that a link to choose a password is shown. */
export function InvitationDialog({ path: link, onClose }: { path: string; onClose: () => void }) {
  return (
    <SecretDialog
      title="Pass on this link"
      wide
      secret={gatewayAddress() + link}
      of="the link"
      copy="Copy link"
      warning="This gateway sends no email. Copy the link now and send it to the customer. We can't show it again."
      onClose={onClose}
    >
      <p>The customer chooses a password with it, within 7 days. It works once.</p>
    </SecretDialog>
  )
}
