import { useQuery } from '@tanstack/react-query'
import { Outlet, useRouter } from '@tanstack/react-router'
import { Menu } from 'lucide-react'
import { useEffect, useState } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { useLiveAccount } from '../api/use-live-account.ts'
import { Brand } from '../components/brand.tsx'
import { DialogBox } from '../components/dialog-box.tsx'
import { Toasts } from '../components/toasts.tsx'
import { VerificationBanner } from '../components/verification-banner.tsx'
import { AccountNavigation } from './account-navigation.tsx'

/** The frame of an account's pages. Its figures are live while it is open. */
export function AccountLayout() {
  const [menuOpen, setMenuOpen] = useState(false)
  const { data: session } = useQuery(sessionQuery)
  useLiveAccount()
  useLeaveWithoutSession(session === null)
  return (
    <>
      <div className="account-frame">
        <header className="account-side">
          <Brand />
          <AccountNavigation />
        </header>
        <header className="account-top">
          <Brand />
          <button type="button" className="button button-quiet button-icon" onClick={() => setMenuOpen(true)}>
            <Menu size={20} aria-hidden="true" />
            <span className="visually-hidden">Open the menu</span>
          </button>
        </header>
        <main id="main" className="account-main" tabIndex={-1}>
          <div className="account-page">
            <VerificationBanner />
            <Outlet />
          </div>
        </main>
      </div>
      <DialogBox title="Menu" className="drawer" isOpen={menuOpen} onClose={() => setMenuOpen(false)}>
        <AccountNavigation onNavigate={() => setMenuOpen(false)} />
      </DialogBox>
      <Toasts />
    </>
  )
}

/** A session may end anywhere: signed out in another window, or the password changed. The page then asks again. */
function useLeaveWithoutSession(hasEnded: boolean): void {
  const router = useRouter()
  useEffect(() => {
    if (hasEnded) void router.invalidate()
  }, [hasEnded, router])
}
