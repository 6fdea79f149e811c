import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import type { DeleteAccountBody, SessionView } from '../../../src/core/api/sessions.ts'
import { sessionQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { switchSession } from '../../api/session.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { Note } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { CURRENT_PASSWORD } from '../../components/form/field-specs.ts'
import { CheckField } from '../../components/form/fields.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { Money } from '../../components/text/money.tsx'
import { BASE_PATH } from '../../lib/base-path.ts'
import { forgetHistory } from '../../lib/playground/kept-history.ts'

/** A copy of what is stored of an account, and its deletion. */
export const AccountDataPanel = ({ session }: { session: SessionView }) => (
  <>
    <ExportPanel of="account">
      The export has your personal account, keys, top-ups and ledger without any secret. Calls are on the
      usage page, as CSV.
    </ExportPanel>
    <Panel title="Danger zone" padded>
      {session.account.is_organisation ? (
        <p className="text-muted">To delete your personal account, switch to it first.</p>
      ) : (
        <>
          <p>
            Deleting the account removes your address, keys and sign-in for good. Billing records are kept
            without your name.
          </p>
          <div>
            <Button dialog={(close) => <DeleteDialog session={session} onClose={close} />}>
              Delete account
            </Button>
          </div>
        </>
      )}
    </Panel>
  </>
)

/** Downloads what is stored. `children`: what that is. */
export const ExportPanel = (props: { of: 'account' | 'organisation'; children: string }) => (
  <Panel title="Export" padded>
    <p>{props.children}</p>
    <div>
      <a className="button" href={`${BASE_PATH}/console/api/${props.of}/export`} download>
        Download export
      </a>
    </div>
  </Panel>
)

/** Deletes the account that a session acts on: that of the person, or an organisation. */
export function DeleteDialog({ session, onClose }: { session: SessionView; onClose: () => void }) {
  const client = useQueryClient()
  const router = useRouter()
  const { balance_usd: balanceUsd } = session.balance
  const { is_organisation: isOrganisation, name } = session.account
  const hasBalance = /[1-9]/.test(balanceUsd)
  const [isGivenUp, setIsGivenUp] = useState(false)
  return (
    <FormDialog
      title={isOrganisation ? `Delete ${name}?` : 'Delete this account?'}
      submit={isOrganisation ? 'Delete organisation' : 'Delete account'}
      pending="Deleting …"
      kind="danger"
      fields={{ current_password: CURRENT_PASSWORD }}
      send={async ({ current_password }) => {
        const body: DeleteAccountBody = { current_password, ...(isGivenUp && { forfeit_usd: balanceUsd }) }
        await requestJson('POST', `/console/api/${isOrganisation ? 'organisation' : 'account'}/delete`, body)
        await router.navigate({ to: isOrganisation ? '/dashboard' : '/' })
        if (isOrganisation) await client.invalidateQueries({ queryKey: sessionQuery.queryKey })
        else {
          switchSession(client, null)
          await forgetHistory()
        }
      }}
      done={isOrganisation ? `${name} is deleted.` : 'The account is deleted.'}
      onClose={onClose}
    >
      {({ input }) => (
        <>
          <Note tone="warn">
            This cannot be undone. Keys stop working at once.{' '}
            {isOrganisation
              ? 'Its name, members, provider keys and webhooks are deleted; billing records are kept without its name.'
              : 'Your address, sign-in, provider keys and webhooks are deleted; billing records are kept without your name.'}
          </Note>
          {hasBalance && (
            <CheckField
              label={
                <>
                  I forfeit my remaining balance of <Money usd={balanceUsd} />
                </>
              }
              checked={isGivenUp}
              onChange={setIsGivenUp}
            />
          )}
          {input('current_password')}
        </>
      )}
    </FormDialog>
  )
}
