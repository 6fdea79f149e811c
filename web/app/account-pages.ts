import {
  BookOpen,
  Building2,
  ChartNoAxesColumn,
  CreditCard,
  History,
  KeyRound,
  LayoutDashboard,
  LibraryBig,
  MessageSquareText,
  PlugZap,
  Settings,
  Users,
  Webhook,
} from 'lucide-react'
import type { Permission } from '../../src/core/accounts/member-permissions.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'

/** `needs`: what a page is of no use without. `ofOrganisation`: a personal account has none of it. */
const PAGES = [
  { to: '/dashboard', name: 'Dashboard', icon: LayoutDashboard },
  { to: '/playground', name: 'Playground', icon: MessageSquareText, needs: 'keys' },
  { to: '/keys', name: 'API keys', icon: KeyRound, needs: 'keys' },
  { to: '/usage', name: 'Usage', icon: ChartNoAxesColumn },
  { to: '/billing', name: 'Billing', icon: CreditCard, needs: 'billing' },
  { to: '/provider-keys', name: 'Provider keys', icon: PlugZap, needs: 'view_integrations' },
  { to: '/webhooks', name: 'Webhooks', icon: Webhook, needs: 'view_integrations' },
  { to: '/members', name: 'Members', icon: Users, ofOrganisation: true },
  { to: '/activity', name: 'Activity', icon: History, needs: 'activity' },
  { to: '/organisation', name: 'Organisation', icon: Building2, ofOrganisation: true },
  { to: '/models', name: 'Models', icon: LibraryBig },
  { to: '/docs', name: 'Docs', icon: BookOpen },
  { to: '/settings', name: 'Settings', icon: Settings },
] as const satisfies ReadonlyArray<{
  to: string
  name: string
  icon: typeof Settings
  needs?: Permission
  ofOrganisation?: boolean
}>

/** The pages of the account that a session acts on, as far as the person's role has a use for them. */
export function accountPages(session: SessionView | null | undefined) {
  return PAGES.filter((page) => {
    if ('ofOrganisation' in page && !session?.account.is_organisation) return false
    return !('needs' in page) || !session || session.permissions.includes(page.needs)
  })
}
