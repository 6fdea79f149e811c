import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { EmailChangeBody, PersonView } from '../../../src/core/api/sessions.ts'
import { gatewayQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { Button } from '../../components/form/button.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { emailProblem } from '../../lib/checks.ts'

/** The address of who is signed in, and the ways to verify and to change it. */
export function EmailAddress({ person }: { person: PersonView }) {
  const mail = useQuery(gatewayQuery).data?.mail
  const [isChanging, setIsChanging] = useState(false)
  const sent =
    mail === 'folder'
      ? 'The message with a link is in the mail folder of this gateway.'
      : 'A message with a link is on its way.'
  const verify = useAction({
    send: () => requestJson('POST', '/console/api/verification-mails'),
    done: sent,
  })
  const hasMail = mail === 'smtp' || mail === 'folder'
  return (
    <span className="row gap-x-3 gap-y-1">
      <span className="wrap-anywhere">{person.email}</span>
      <span className="text-sm text-muted">{person.email_verified ? 'verified' : 'not verified'}</span>
      {hasMail && !person.email_verified && (
        <Button size="small" disabled={verify.isPending} onClick={() => verify.run()}>
          Send verification link
        </Button>
      )}
      {hasMail && (
        <Button size="small" onClick={() => setIsChanging(true)}>
          Change address
        </Button>
      )}
      {isChanging && <ChangeDialog sent={sent} onClose={() => setIsChanging(false)} />}
    </span>
  )
}

function ChangeDialog({ sent, onClose }: { sent: string; onClose: () => void }) {
  return (
    <FormDialog
      title="Change email address"
      submit="Send link"
      pending="Sending …"
      kind="primary"
      initial={{ email: '', current_password: '' }}
      check={({ email, current_password: password }) => ({
        email: emailProblem(email),
        current_password: password === '' ? 'Enter your current password.' : null,
      })}
      send={({ email, current_password }) => {
        const body: EmailChangeBody = { email: email.trim(), current_password }
        return requestJson('POST', '/console/api/email-changes', body)
      }}
      done={sent}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>The address changes when you open the link that is sent to the new one.</p>
          <TextField label="New email address" type="email" inputMode="email" {...field('email')} required />
          <TextField
            label="Current password"
            type="password"
            autoComplete="current-password"
            {...field('current_password')}
            required
          />
        </>
      )}
    </FormDialog>
  )
}
