import { useQuery } from '@tanstack/react-query'
import type { AccountView } from '../../../src/core/api/sessions.ts'
import { gatewayQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { Button } from '../../components/form/button.tsx'

/** The address of an account, and the way to verify it. */
export function EmailAddress({ account }: { account: AccountView }) {
  const { data: gateway } = useQuery(gatewayQuery)
  const send = useAction({
    send: () => requestJson('POST', '/console/api/verification-mails'),
    done:
      gateway?.mail === 'folder'
        ? 'The message is in the mail folder of this gateway.'
        : 'A message with a link is on its way.',
  })
  return (
    <span className="row gap-x-3 gap-y-1">
      <span className="wrap-anywhere">{account.email}</span>
      {account.email_verified ? (
        <span className="text-sm text-muted">verified</span>
      ) : (
        <>
          <span className="text-sm text-muted">not verified</span>
          {gateway !== undefined && gateway.mail !== 'none' && (
            <Button size="small" disabled={send.isPending} onClick={() => send.run()}>
              Send a link to verify it
            </Button>
          )}
        </>
      )}
    </span>
  )
}
