import { Link, useLocation } from '@tanstack/react-router'
import type { VerifiedView, VerifyBody } from '../../src/core/api/sessions.ts'
import type { FreeCreditState } from '../../src/core/billing/free-credit-state.ts'
import { requestJson } from '../api/request.ts'
import { useChange } from '../api/use-change.ts'
import { ErrorNote, Note } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { CenterPage } from '../components/layout/page.tsx'
import { whyNoFreeCredit } from '../lib/free-credit.ts'

/**
 * The target of the link in a verification message. Its token is behind `#`, and only a press of the button uses it:
 * programs that open links in messages do not press it.
 */
export function VerifyPage() {
  const token = useLocation({ select: ({ hash }) => hash })
  const verify = useChange({
    send: (body: VerifyBody) => requestJson<VerifiedView>('POST', '/console/api/verify', body),
    stale: ['/console/api/visitor'],
  })
  return (
    <CenterPage title="Verify your email address">
      {verify.data && <Outcome freeCredit={verify.data.free_credit} />}
      <ErrorNote error={verify.error} />
      {!verify.data && token === '' && (
        <Note tone="warn">This link is incomplete. Open the full link from the email.</Note>
      )}
      {!verify.data && token !== '' && (
        <Button
          kind="primary"
          size="large"
          disabled={verify.isPending}
          onClick={() => verify.mutate({ token })}
        >
          {verify.isPending ? 'Verifying …' : 'Verify email address'}
        </Button>
      )}
      <p>
        <Link to="/dashboard">Go to the dashboard</Link>
      </p>
    </CenterPage>
  )
}

function Outcome({ freeCredit }: { freeCredit: FreeCreditState | null }) {
  const why = whyNoFreeCredit(freeCredit)
  return (
    <Note tone={why === null ? 'good' : 'warn'} announce>
      <strong>Email address verified.</strong>{' '}
      {freeCredit === 'granted' && 'Your free credit has been added to your balance.'}
      {why !== null && `This account gets no free credit: ${why}`}
    </Note>
  )
}
