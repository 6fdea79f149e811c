import { Check, Plus } from 'lucide-react'
import { Menu, MenuItem, Popover, Separator } from 'react-aria-components'
import type { SessionView } from '../../src/core/api/sessions.ts'
import type { OpenPopover } from '../components/layout/popover-button.tsx'
import { AccountIcon, CREATE, kindOf } from './account-name.tsx'

/** The accounts of the person, and the way to another one. `onChoose` gets the id of an account, or CREATE. */
export function AccountMenu(props: OpenPopover & { session: SessionView; onChoose: (id: string) => void }) {
  const { session, onChoose, ...popover } = props
  const { account, accounts } = session
  return (
    <Popover {...popover} aria-label="Accounts" className="switcher-menu" placement="bottom start">
      <Menu
        className="outline-none"
        aria-label="Accounts"
        autoFocus
        onAction={(id) => onChoose(String(id))}
        onClose={() => popover.onOpenChange(false)}
      >
        {accounts.map((one) => (
          <MenuItem key={one.id} id={one.id} className="switcher-item" textValue={one.name}>
            <AccountIcon isOrganisation={one.is_organisation} />
            <span className="stack-tight min-w-0 flex-1">
              <span className="truncate">{one.name}</span>
              <span className="text-xs text-muted">{kindOf(one)}</span>
            </span>
            {one.id === account.id && (
              <>
                <Check size={16} aria-hidden="true" />
                <span className="sr-only">, shown now</span>
              </>
            )}
          </MenuItem>
        ))}
        <Separator className="my-1 border-t border-line" />
        <MenuItem id={CREATE} className="switcher-item" textValue="Create organisation">
          <Plus size={16} aria-hidden="true" />
          Create organisation
        </MenuItem>
      </Menu>
    </Popover>
  )
}
