import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { VerifiedView, VerifyBody } from '../../src/core/api/sessions.ts'
import { RequestFailure, requestJson } from '../api/request.ts'
import { useChange } from '../api/use-change.ts'
import { ErrorNote, Note } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { CenterPage } from '../components/layout/page.tsx'
import { whyNoFreeCredit } from '../lib/free-credit.ts'

/** The link was used or has expired: to press the button again cannot help. */
const isFinal = (error: Error): boolean =>
  error instanceof RequestFailure && error.status >= 400 && error.status < 500 && error.status !== 429

/** The target of the link in a verification message. */
export const VerifyPage = () => (
  <TokenPage<VerifiedView>
    title="Verify your email address"
    path="/console/api/verify"
    incomplete="This link is incomplete. Open the full link from the email."
    submit="Verify email address"
    pending="Verifying …"
    onwards={<Link to="/dashboard">Go to the dashboard</Link>}
  >
    {({ free_credit: freeCredit }) => {
      const why = whyNoFreeCredit(freeCredit)
      return (
        <Note tone={why === null ? 'good' : 'warn'} announce>
          <strong>Email address verified.</strong>{' '}
          {freeCredit === 'granted' && 'Your free credit has been added to your balance.'}
          {why !== null && `This account gets no free credit: ${why}`}
        </Note>
      )
    }}
  </TokenPage>
)

/** The target of the link that confirms a new email address. */
export const ConfirmEmailPage = () => (
  <TokenPage
    title="Confirm your new address"
    path="/console/api/email-changes/confirm"
    incomplete="The last part of the link is missing. Open the whole link of the message."
    submit="Confirm this address"
    pending="Confirming …"
    onwards={<Link to="/settings">Go to the settings</Link>}
  >
    {() => (
      <Note tone="good" announce>
        <strong>Email address updated.</strong> Sign in with the new one from now on.
      </Note>
    )}
  </TokenPage>
)

/**
 * A page that sends the token of its link, which is behind `#`. Only a press of the button uses it: programs that open
 * links in messages do not press it. `children`: what is shown of the response.
 */
function TokenPage<Result>(props: {
  title: string
  path: string
  incomplete: string
  submit: string
  pending: string
  onwards: ReactNode
  children: (result: Result) => ReactNode
}) {
  const { title, path, incomplete, submit, pending, onwards, children } = props
  const token = useLocation({ select: ({ hash }) => hash })
  const change = useChange({
    send: (body: VerifyBody) => requestJson<Result>('POST', path, body),
    stale: ['/console/api/visitor'],
  })
  return (
    <CenterPage title={title}>
      <ErrorNote error={change.error} />
      {change.isSuccess ? (
        children(change.data)
      ) : token === '' ? (
        <Note tone="warn">{incomplete}</Note>
      ) : change.error && isFinal(change.error) ? null : (
        <Button
          kind="primary"
          size="large"
          disabled={change.isPending}
          onClick={() => change.mutate({ token })}
        >
          {change.isPending ? pending : submit}
        </Button>
      )}
      <p>{onwards}</p>
    </CenterPage>
  )
}
