import type { AccountInvited, AccountOpened, NewAccountRequest } from '../../../../src/core/api/accounts.ts'
import { path, requestJson } from '../../../api/request.ts'
import { ConfirmDialog, FormDialog, SecretDialog } from '../../../components/feedback/dialogs.tsx'
import { EMAIL, optional } from '../../../components/form/field-specs.ts'
import { creditProblem } from '../../../lib/checks.ts'
import { gatewayAddress } from '../../../lib/gateway-address.ts'

/** Opens an account for a customer. */
export const NewAccountDialog = ({ onClose }: { onClose: () => void }) => (
  <FormDialog
    title="Create account"
    submit="Create account"
    pending="Creating …"
    fields={{
      email: EMAIL,
      credit_usd: {
        label: 'Starting credit (USD)',
        inputMode: 'decimal',
        placeholder: 'none',
        hint: 'Posted to the ledger immediately.',
        check: optional(creditProblem),
      },
      reason: {
        label: 'Reason for the credit',
        hint: 'Optional. Shown in the ledger and to the customer.',
      },
    }}
    send={({ email, credit_usd, reason }) =>
      requestJson<AccountOpened>('POST', '/admin/api/accounts', {
        email,
        ...(credit_usd !== '' && { credit_usd, ...(reason !== '' && { reason }) }),
      } satisfies NewAccountRequest)
    }
    stale={['/admin/api']}
    done={({ account }) => `Account ${account.name} created.`}
    then={({ invitation }, close) => passOn(invitation, close)}
    onClose={onClose}
    foot={
      <p className="text-sm text-muted">
        The customer gets a message with a link to choose a password. Where this gateway sends no email, you
        get the link to pass on.
      </p>
    }
  />
)

/** Sends the holder of an account a link to choose a password, or gets it to pass on. */
export function InviteDialog(props: { account: { id: string; name: string }; onClose: () => void }) {
  const { account, onClose } = props
  return (
    <ConfirmDialog
      title="Send a password link?"
      confirm="Send link"
      send={() => requestJson<AccountInvited>('POST', path`/admin/api/accounts/${account.id}/invite`)}
      stale={['/admin/api']}
      done={({ mailed }) => (mailed ? `A message to ${account.name} has been queued.` : 'Link created.')}
      then={passOn}
      onClose={onClose}
    >
      <p>
        With the link the holder of <strong>{account.name}</strong> chooses a password. It is valid for 7 days
        and works once. Where this gateway sends no email, the link is shown here.
      </p>
    </ConfirmDialog>
  )
}

/** The one time that a link to choose a password is shown; nothing where it was sent. */
const passOn = ({ path: link }: AccountInvited, close: () => void) =>
  link !== null && (
    <SecretDialog
      title="Pass on this link"
      wide
      secret={gatewayAddress() + link}
      of="the link"
      copy="Copy link"
      warning="This gateway sends no email. Copy the link now and send it to the customer. We can't show it again."
      onClose={close}
    >
      <p>The customer chooses a password with it, within 7 days. It works once.</p>
    </SecretDialog>
  )
