import { Link, type LinkProps, Outlet, useRouter } from '@tanstack/react-router'
import { type LucideIcon, Menu } from 'lucide-react'
import { type ReactNode, useEffect, useId, useState } from 'react'
import { DialogBox } from '../components/feedback/dialogs.tsx'
import { Toasts } from '../components/feedback/toasts.tsx'
import { Button } from '../components/form/button.tsx'
import { Brand } from '../components/layout/brand.tsx'
import { SearchButton, useFramePages } from './command-palette.tsx'
import { noteSessionEnd } from './session-end.ts'
import type { FramePage } from './shortcuts.ts'
import { type User, UserMenu } from './user-menu.tsx'

interface SideFrameProps {
  /** Of the navigation, for screen readers. */
  label: string
  /** Those of one group stand together, below its name. */
  pages: ReadonlyArray<FramePage & { to: NonNullable<LinkProps['to']>; icon: LucideIcon; group: string }>
  /** Shown beside the names of pages, by their paths. */
  badges?: Record<string, ReactNode>
  /** Links after the pages of this router, by their groups. */
  extraPages?: Record<string, ReactNode>
  /** Content above the pages. */
  head?: (onNavigate?: () => void) => ReactNode
  /** Content above the name of the user. */
  foot?: (onNavigate?: () => void) => ReactNode
  /** Null without a session. */
  user: User | null
  hasSessionEnded: boolean
  /** The page is rendered from scratch when this changes. */
  pageKey?: string
  wide?: boolean
  banner?: ReactNode
}

/** The frame of signed-in pages: the navigation at the side, which is a menu on narrow screens. */
export function SideFrame(props: SideFrameProps) {
  const { hasSessionEnded, pageKey, wide = false, banner } = props
  const [menuOpen, setMenuOpen] = useState(false)
  const router = useRouter()
  useFramePages(props.pages)
  // A session may end in another window, or when the password is changed; the routes then lead to the sign-in page.
  useEffect(() => {
    if (!hasSessionEnded) return
    noteSessionEnd()
    void router.invalidate()
  }, [hasSessionEnded, router])
  return (
    <>
      <div className="grid flex-1 grid-cols-1 content-start lg:grid-cols-[15rem_minmax(0,1fr)] lg:content-stretch">
        <header className="sticky top-(--banner) hidden h-0 min-h-[min(100%,calc(100dvh-var(--banner)))] flex-col gap-4 overflow-y-auto border-r border-line bg-surface p-3 lg:flex [&>a]:mx-3">
          <Brand />
          <SearchButton />
          <Navigation {...props} />
        </header>
        <header className="top-bar flex items-center justify-between px-4 py-2 lg:hidden">
          <Brand />
          <span className="line gap-0">
            <SearchButton icon />
            <Button icon={Menu} about="Open the menu" onClick={() => setMenuOpen(true)} />
          </span>
        </header>
        <main
          id="main"
          className="min-w-0 px-4 pt-6 pb-12 lg:px-[clamp(1rem,3vw,3rem)] lg:pt-8 lg:pb-20"
          tabIndex={-1}
        >
          <div
            className={`side-content stack mx-auto gap-8 ${wide ? 'operator-page max-w-352' : 'max-w-320'}`}
          >
            {banner}
            <Outlet key={pageKey} />
          </div>
        </main>
      </div>
      {menuOpen && (
        <DialogBox
          title="Menu"
          className="drawer -m-4 mr-0 max-h-none w-[min(20rem,86vw)] self-stretch justify-self-start rounded-none"
          onClose={() => setMenuOpen(false)}
        >
          <Navigation {...props} onNavigate={() => setMenuOpen(false)} />
        </DialogBox>
      )}
      <Toasts />
    </>
  )
}

function Navigation(props: SideFrameProps & { onNavigate?: () => void }) {
  const { label, pages, head, foot, user, onNavigate } = props
  const groups = [...new Set(pages.map(({ group }) => group))]
  return (
    <>
      {head?.(onNavigate)}
      <nav className="side-nav stack gap-3" aria-label={label}>
        {groups.map((group) => (
          <NavigationGroup key={group} {...props} group={group} />
        ))}
      </nav>
      <div className="stack mt-auto gap-1">
        {foot?.(onNavigate)}
        {user && <UserMenu user={user} />}
      </div>
    </>
  )
}

function NavigationGroup(props: SideFrameProps & { group: string; onNavigate?: () => void }) {
  const { group, pages, badges = {}, extraPages = {}, onNavigate } = props
  const id = useId()
  return (
    <div>
      <p id={id} className="px-3 pb-1 text-xs font-medium text-muted">
        {group}
      </p>
      <ul className="grid gap-0.5" aria-labelledby={id}>
        {pages
          .filter((page) => page.group === group)
          .map(({ to, name, icon: Icon }) => (
            <li key={to}>
              <Link
                to={to}
                className="nav-link"
                activeOptions={{ exact: to === '/admin', includeSearch: false }}
                onClick={onNavigate}
              >
                <Icon size={18} aria-hidden="true" />
                {name}
                {badges[to]}
              </Link>
            </li>
          ))}
        {extraPages[group] && <li>{extraPages[group]}</li>}
      </ul>
    </div>
  )
}
