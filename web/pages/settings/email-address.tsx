import { useQuery } from '@tanstack/react-query'
import type { EmailChangeBody, PersonView } from '../../../src/core/api/sessions.ts'
import { gatewayQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { ActionButton } from '../../components/form/action-button.tsx'
import { Button } from '../../components/form/button.tsx'
import { CURRENT_PASSWORD, EMAIL } from '../../components/form/field-specs.ts'

/** The address of who is signed in, and the ways to verify and to change it. */
export function EmailAddress({ person }: { person: PersonView }) {
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
