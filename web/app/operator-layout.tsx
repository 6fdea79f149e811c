import { useQuery } from '@tanstack/react-query'
import { Outlet, useRouter } from '@tanstack/react-router'
import { Menu } from 'lucide-react'
import { useEffect, useState } from 'react'
import { LiveBoardProvider } from '../api/live-board.tsx'
import { operatorSessionQuery } from '../api/operator-queries.ts'
import { Brand } from '../components/brand.tsx'
import { DialogBox } from '../components/dialog-box.tsx'
import { Toasts } from '../components/toasts.tsx'
import { OperatorNavigation } from './operator-navigation.tsx'
import '../styles/operator.css'

/** The frame of operators' pages, with the live figures behind them. */
export function OperatorLayout() {
  const [menuOpen, setMenuOpen] = useState(false)
  const { data: session } = useQuery({ ...operatorSessionQuery, refetchInterval: 60_000 })
  const router = useRouter()
  const hasEnded = session === null
  useEffect(() => {
    if (hasEnded) void router.invalidate()
  }, [hasEnded, router])
  return (
    <LiveBoardProvider>
      <div className="account-frame">
        <header className="account-side">
          <Brand />
          <OperatorNavigation />
        </header>
        <header className="account-top">
          <Brand />
          <button type="button" className="button button-quiet button-icon" onClick={() => setMenuOpen(true)}>
            <Menu size={20} aria-hidden="true" />
            <span className="visually-hidden">Open the menu</span>
          </button>
        </header>
        <main id="main" className="account-main" tabIndex={-1}>
          <div className="account-page operator-page">
            <Outlet />
          </div>
        </main>
      </div>
      <DialogBox title="Menu" className="drawer" isOpen={menuOpen} onClose={() => setMenuOpen(false)}>
        <OperatorNavigation onNavigate={() => setMenuOpen(false)} />
      </DialogBox>
      <Toasts />
    </LiveBoardProvider>
  )
}
