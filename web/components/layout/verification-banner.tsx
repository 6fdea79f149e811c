import { useMutation, useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../../api/queries.ts'
import { messageOf, requestJson } from '../../api/request.ts'
import { Note } from '../feedback/messages.tsx'
import { Button } from '../form/button.tsx'

/** Asks for the verification of the e-mail address while the free credit depends on it. */
export function VerificationBanner() {
  const { data: session } = useQuery(sessionQuery)
  const resend = useMutation({ mutationFn: () => requestJson('POST', '/console/api/verification-mails') })
  if (session?.account.free_credit !== 'unverified') return null
  return (
    <Note tone={resend.error ? 'warn' : 'plain'}>
      <strong>Verify your address to get your free credit.</strong> Open the link in the message to{' '}
      {session.account.email}.{' '}
      <Button size="small" disabled={resend.isPending} onClick={() => resend.mutate()}>
        Send it again
      </Button>
      <p role="status">
        {resend.isSuccess && 'Another message is on its way. Look into the spam folder, too.'}
        {resend.error && messageOf(resend.error)}
      </p>
    </Note>
  )
}
