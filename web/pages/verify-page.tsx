import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import type { VerifiedView, VerifyBody } from '../../src/core/api/sessions.ts'
import type { FreeCreditState } from '../../src/core/billing/free-credit-state.ts'
import { sessionQuery } from '../api/queries.ts'
import { messageOf, requestJson } from '../api/request.ts'
import { Note } from '../components/note.tsx'
import { usePageTitle } from '../components/use-page-title.ts'
import { whyNoFreeCredit } from '../lib/free-credit.ts'

/**
 * Where the link of a verification message leads. Its token is behind `#`. A press of the button uses it: programs
 * that look at links in messages do not.
 */
export function VerifyPage() {
  const heading = usePageTitle('Verify your address')
  const token = useLocation({ select: ({ hash }) => hash })
  const client = useQueryClient()
  const verify = useMutation({
    mutationFn: (body: VerifyBody) => requestJson<VerifiedView>('POST', '/console/api/verify', { body }),
    gcTime: 0,
    onSuccess: () => client.invalidateQueries({ queryKey: sessionQuery.queryKey }),
  })
  return (
    <div className="center-page">
      <h1 ref={heading} tabIndex={-1}>
        Verify your address
      </h1>
      {verify.data && <Outcome freeCredit={verify.data.free_credit} />}
      {verify.error && (
        <Note tone="bad" announce>
          {messageOf(verify.error)}
        </Note>
      )}
      {!verify.data && token === '' && (
        <Note tone="warn">This address lacks its last part. Open the whole link of the message.</Note>
      )}
      {!verify.data && token !== '' && (
        <button
          type="button"
          className="button button-primary button-large"
          disabled={verify.isPending}
          onClick={() => verify.mutate({ token })}
        >
          {verify.isPending ? 'Verifying …' : 'Verify this address'}
        </button>
      )}
      <p>
        <Link to="/dashboard">Go to the dashboard</Link>
      </p>
    </div>
  )
}

function Outcome({ freeCredit }: { freeCredit: FreeCreditState }) {
  const why = whyNoFreeCredit(freeCredit)
  return (
    <Note tone={why === null ? 'good' : 'warn'} announce>
      <strong>Your address is verified.</strong>{' '}
      {why === null
        ? 'The free credit is in your balance.'
        : `There is no free credit for this account: ${why}`}
    </Note>
  )
}
