import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import type { OrganisationBody } from '../../src/core/api/organisations.ts'
import type { ActOnBody, SessionView } from '../../src/core/api/sessions.ts'
import { lazyPart } from '../api/lazy-part.ts'
import { sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { useAction } from '../api/use-change.ts'
import { FormDialog } from '../components/feedback/dialogs.tsx'
import { PopoverButton } from '../components/layout/popover-button.tsx'
import { AccountIcon, CREATE, kindOf } from './account-name.tsx'

const AccountMenu = lazyPart(async () => (await import('./account-menu.tsx')).AccountMenu)

/** Chooses the account that every page is about: the person's own, or an organisation; or opens an organisation. */
export function AccountSwitcher(props: { session: SessionView; onNavigate: (() => void) | undefined }) {
  const { session, onNavigate } = props
  const { account } = session
  const [isCreating, setIsCreating] = useState(false)
  const show = useShownAccount(onNavigate)
  const choose = useAction({
    send: (id: string) =>
      requestJson<SessionView>('POST', '/console/api/session/account', {
        account_id: id,
      } satisfies ActOnBody),
    onDone: show,
  })
  const act = (id: string) => {
    if (id === CREATE) setIsCreating(true)
    else if (id !== account.id) choose.run(id)
  }
  return (
    <>
      <PopoverButton
        popup="menu"
        popover={(open) => <AccountMenu {...open} session={session} onChoose={act} />}
      >
        <AccountIcon isOrganisation={account.is_organisation} />
        <span className="stack-tight min-w-0 flex-1 text-left">
          <span className="truncate text-md font-medium">
            <span className="sr-only">Account: </span>
            {account.name}
          </span>
          <span className="text-xs text-muted">{kindOf(account)}</span>
          <span className="sr-only">. Switch account</span>
        </span>
      </PopoverButton>
      {isCreating && <CreateDialog onCreated={show} onClose={() => setIsCreating(false)} />}
    </>
  )
}

const CreateDialog = (props: { onCreated: (session: SessionView) => void; onClose: () => void }) => (
  <FormDialog
    title="Create an organisation"
    submit="Create organisation"
    pending="Creating …"
    fields={{ name: { label: 'Name', maxLength: 80, required: 'Enter a name.' } }}
    send={(body: OrganisationBody) => requestJson<SessionView>('POST', '/console/api/organisations', body)}
    done="Organisation created. Invite its members."
    onDone={props.onCreated}
    onClose={props.onClose}
  >
    <p>
      An organisation has one balance, its own API keys and members with roles. Your personal account stays as
      it is.
    </p>
  </FormDialog>
)

/** Shows the account of a changed session, from its dashboard on. */
function useShownAccount(onNavigate: (() => void) | undefined) {
  const client = useQueryClient()
  const router = useRouter()
  return (session: SessionView) => {
    client.setQueryData(sessionQuery.queryKey, session)
    void router.navigate({ to: '/dashboard' })
    onNavigate?.()
  }
}
