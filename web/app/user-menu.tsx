import { ChevronsUpDown, CircleUser, LogOut } from 'lucide-react'
import { Dialog, DialogTrigger, Popover, Button as PressButton } from 'react-aria-components'
import { messageOf } from '../api/request.ts'
import { showToast } from '../components/feedback/toasts.tsx'
import { Button } from '../components/form/button.tsx'
import { ChoiceField } from '../components/form/fields.tsx'
import { TimeZoneField } from '../components/form/time-zone-field.tsx'
import { useShownZone, zoneName } from '../lib/time-zone.ts'
import { THEMES, useTheme } from './theme.tsx'

/** Who is signed in. */
export interface User {
  name: string
  /** How they signed in, where the name does not say it. */
  detail?: string
  signOut: () => Promise<void>
}

/** At the foot of the navigation: the user, and behind it the theme, the time zone and signing out. */
export function UserMenu({ user }: { user: User }) {
  const [theme, chooseTheme] = useTheme()
  return (
    <DialogTrigger>
      <PressButton className="switcher border-transparent">
        <CircleUser size={18} className="flex-none text-muted" aria-hidden="true" />
        <span className="stack-tight min-w-0 flex-1 text-left">
          <span className="truncate text-sm font-medium">
            <span className="sr-only">User menu: </span>
            {user.name}
          </span>
          <span className="truncate text-xs text-muted">Times: {zoneName(useShownZone(), new Date())}</span>
        </span>
        <ChevronsUpDown size={16} aria-hidden="true" />
      </PressButton>
      <Popover className="switcher-menu max-h-none" placement="top start">
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
    </DialogTrigger>
  )
}
