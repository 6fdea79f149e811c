import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { Brand } from '../components/layout/brand.tsx'
import { ThemeMenu } from './theme.tsx'

/** The frame of the pages that everyone may see. Without children it has the page of the address. */
export function SiteLayout({ children }: { children?: ReactNode }) {
  const { data: session } = useQuery(sessionQuery)
  return (
    <>
      <header className="site-header">
        <div className="site-header-inner line">
          <Brand />
          <nav className="line gap-1 grow" aria-label="Site">
            <Link to="/models" className="nav-link">
              Models
            </Link>
            <Link to="/docs" className="nav-link">
              Docs
            </Link>
            <div className="line push">
              {session ? (
                <Link to="/dashboard" className="button button-primary">
                  Dashboard
                </Link>
              ) : (
                <>
                  <Link to="/sign-in" className="nav-link nowrap">
                    Sign in
                  </Link>
                  <Link to="/sign-up" className="button button-primary">
                    Sign up
                  </Link>
                </>
              )}
            </div>
          </nav>
        </div>
      </header>
      <main id="main" className="site-main" tabIndex={-1}>
        {children ?? <Outlet />}
      </main>
      <footer className="site-footer">
        <div className="site-footer-inner spread">
          <p>Switchyard, a routing gateway for chat completions. In beta.</p>
          <ThemeMenu />
          <nav aria-label="More">
            <ul className="row">
              <li>
                <Link to="/models">Models and prices</Link>
              </li>
              <li>
                <a href="/pricing.json">pricing.json</a>
              </li>
              <li>
                <Link to="/docs">Docs</Link>
              </li>
            </ul>
          </nav>
        </div>
      </footer>
    </>
  )
}
