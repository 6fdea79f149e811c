import { CircleUser } from 'lucide-react'
import { lazyPart } from '../api/lazy-part.ts'
import { PopoverButton } from '../components/layout/popover-button.tsx'
import { useShownZone, zoneName } from '../lib/time-zone.ts'

const UserPopover = lazyPart(async () => (await import('./user-popover.tsx')).UserPopover)

/** Who is signed in. */
export interface User {
  name: string
  /** How they signed in, where the name does not say it. */
  detail?: string
  signOut: () => Promise<void>
}

/** At the foot of the navigation: the user, and behind it the theme, the time zone and signing out. */
export const UserMenu = ({ user }: { user: User }) => (
  <PopoverButton
    popup="dialog"
    className="border-transparent"
    popover={(open) => <UserPopover {...open} user={user} />}
  >
    <CircleUser size={18} className="flex-none text-muted" aria-hidden="true" />
    <span className="stack-tight min-w-0 flex-1 text-left">
      <span className="truncate text-sm font-medium">
        <span className="sr-only">User menu: </span>
        {user.name}
      </span>
      <span className="truncate text-xs text-muted">Times: {zoneName(useShownZone(), new Date())}</span>
    </span>
  </PopoverButton>
)
