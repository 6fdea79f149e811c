import { LogOut } from 'lucide-react'
import { Dialog, Popover } from 'react-aria-components'
import { messageOf } from '../api/request.ts'
import { showToast } from '../components/feedback/toasts.tsx'
import { Button } from '../components/form/button.tsx'
import { ChoiceField } from '../components/form/fields.tsx'
import { TimeZoneField } from '../components/form/time-zone-field.tsx'
import type { OpenPopover } from '../components/layout/popover-button.tsx'
import { THEMES, useTheme } from './theme.tsx'
import type { User } from './user-menu.tsx'

/** What the user menu holds: the theme, the time zone and signing out. */
export function UserPopover({ user, ...popover }: OpenPopover & { user: User }) {
  const [theme, chooseTheme] = useTheme()
  return (
    <Popover {...popover} className="switcher-menu max-h-none" placement="top start">
      <Dialog className="stack gap-3 p-2 outline-none" aria-label="User menu">
        <p className="text-sm text-muted wrap-anywhere">{user.detail ?? user.name}</p>
        <div className="toolbar">
          <ChoiceField label="Theme" value={theme} options={THEMES} onChange={chooseTheme} />
        </div>
        <TimeZoneField />
        <Button
          icon={LogOut}
          size="small"
          onClick={() => void user.signOut().catch((error) => showToast(messageOf(error)))}
        >
          Sign out
        </Button>
      </Dialog>
    </Popover>
  )
}
