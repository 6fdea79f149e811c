import { Link, useLocation } from '@tanstack/react-router'
import type { VerifyBody } from '../../src/core/api/sessions.ts'
import { requestJson } from '../api/request.ts'
import { useChange } from '../api/use-change.ts'
import { ErrorNote, Note } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { CenterPage } from '../components/layout/page.tsx'

/**
 * The target of the link that confirms a new email address. Its token is behind `#`, and only a press of the button uses
 * it: programs that open links in messages do not press it.
 */
export function ConfirmEmailPage() {
  const token = useLocation({ select: ({ hash }) => hash })
  const confirm = useChange({
    send: (body: VerifyBody) => requestJson('POST', '/console/api/email-changes/confirm', body),
    stale: ['/console/api/visitor'],
  })
  return (
    <CenterPage title="Confirm your new address">
      {confirm.isSuccess && (
        <Note tone="good" announce>
          <strong>Your address is changed.</strong> Sign in with the new one from now on.
        </Note>
      )}
      <ErrorNote error={confirm.error} />
      {!confirm.isSuccess && token === '' && (
        <Note tone="warn">The last part of the link is missing. Open the whole link of the message.</Note>
      )}
      {!confirm.isSuccess && token !== '' && (
        <Button
          kind="primary"
          size="large"
          disabled={confirm.isPending}
          onClick={() => confirm.mutate({ token })}
        >
          {confirm.isPending ? 'Confirming …' : 'Confirm this address'}
        </Button>
      )}
      <p>
        <Link to="/settings">Go to the settings</Link>
      </p>
    </CenterPage>
  )
}
