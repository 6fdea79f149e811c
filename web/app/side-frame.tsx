import { Link, type LinkProps, Outlet, useRouter } from '@tanstack/react-router'
import { LogOut, type LucideIcon, Menu } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { messageOf } from '../api/request.ts'
import { DialogBox } from '../components/feedback/dialogs.tsx'
import { showToast, Toasts } from '../components/feedback/toasts.tsx'
import { Button } from '../components/form/button.tsx'
import { Brand } from '../components/layout/brand.tsx'
import { useShownZone, zoneName } from '../lib/time-zone.ts'
import { SearchButton, useFramePages } from './command-palette.tsx'
import { noteSessionEnd } from './session-end.ts'

interface SideFrameProps {
  /** Of the navigation, for screen readers. */
  label: string
  pages: ReadonlyArray<{ to: NonNullable<LinkProps['to']>; name: string; icon: LucideIcon }>
  /** Shown beside the names of pages, by their paths. */
  badges?: Record<string, ReactNode>
  /** A link after the pages of this router. */
  extraPage?: ReactNode
  /** Content above the pages. */
  head?: (onNavigate?: () => void) => ReactNode
  /** Content above the name of the user. */
  foot?: (onNavigate?: () => void) => ReactNode
  /** The name of the signed-in user; null without a session. */
  user: { name: string; title: string } | null
  hasSessionEnded: boolean
  signOut: () => Promise<void>
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
        <header className="sticky top-0 hidden h-0 min-h-[min(100%,100dvh)] flex-col gap-4 overflow-y-auto border-r border-line bg-surface p-3 lg:flex [&>a]:mx-3">
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
  const { label, pages, badges = {}, extraPage, head, foot, user, signOut, onNavigate } = props
  return (
    <>
      {head?.(onNavigate)}
      <nav className="side-nav" aria-label={label}>
        <ul className="grid gap-0.5">
          {pages.map(({ to, name, icon: Icon }) => (
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
          {extraPage && <li>{extraPage}</li>}
        </ul>
      </nav>
      <div className="stack mt-auto gap-3">
        {foot?.(onNavigate)}
        <p className="pl-3 text-sm text-muted">Times: {zoneName(useShownZone(), new Date())}</p>
        {user && (
          <div className="line pl-3 text-sm">
            <span className="min-w-0 flex-1 truncate" title={user.title}>
              {user.name}
            </span>
            <Button
              icon={LogOut}
              size="small"
              about="Sign out"
              onClick={() => void signOut().catch((error) => showToast(messageOf(error)))}
            />
          </div>
        )}
      </div>
    </>
  )
}
