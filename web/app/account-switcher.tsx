import { useState } from 'react'
import type { OrganisationBody } from '../../src/core/api/organisations.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { lazyPart } from '../api/lazy-part.ts'
import { requestJson } from '../api/request.ts'
import { FormDialog } from '../components/feedback/dialogs.tsx'
import { PopoverButton } from '../components/layout/popover-button.tsx'
import { AccountIcon, CREATE, kindOf } from './account-name.tsx'
import { useChosenAccount, useShownAccount } from './choose-account.ts'

const AccountMenu = lazyPart(async () => (await import('./account-menu.tsx')).AccountMenu)

/** Chooses the account that every page is about: the person's own, or an organisation; or opens an organisation. */
export function AccountSwitcher(props: { session: SessionView; onNavigate: (() => void) | undefined }) {
  const { session, onNavigate } = props
  const { account } = session
  const [isCreating, setIsCreating] = useState(false)
  const show = useShownAccount(onNavigate)
  const choose = useChosenAccount(onNavigate)
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
