import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { Brand } from '../components/layout/brand.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { SearchButton } from './command-palette.tsx'
import { ThemeMenu } from './theme.tsx'

/** The frame of the pages that everyone may see. Without children it has the page of the address. */
export function SiteLayout({ children }: { children?: ReactNode }) {
  const { data: session } = useQuery(sessionQuery)
  return (
    <>
      <header className="top-bar site-header">
        <div className="site-width flex items-center gap-1 py-2 sm:gap-6">
          <Brand />
          <nav className="flex min-w-0 flex-1 items-center gap-1" aria-label="Site">
            <Link to="/models" className="nav-link">
              Models
            </Link>
            <Link to="/docs" className="nav-link">
              Docs
            </Link>
            <div className="line ml-auto">
              <span className="max-[24rem]:hidden">
                <SearchButton icon />
              </span>
              {session ? (
                <Link to="/dashboard" className="button button-primary">
                  Dashboard
                </Link>
              ) : (
                <>
                  <Link to="/sign-in" className="nav-link whitespace-nowrap">
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
      {/* The footer lies below the first screen, so that it does not move while a page is loading. */}
      <main id="main" className="min-h-svh w-full" tabIndex={-1}>
        {children ?? <Outlet />}
      </main>
      <footer className="border-t border-line text-sm text-muted">
        <div className="site-width spread gap-x-6 py-6">
          <p>Shuntyard, a routing gateway for chat completions. In beta.</p>
          <ThemeMenu />
          <nav aria-label="More">
            <ul className="row gap-x-4 gap-y-1 [&_a]:inline-block [&_a]:py-1 [&_a]:text-soft">
              <li>
                <Link to="/models">Models and prices</Link>
              </li>
              <li>
                <a href={`${BASE_PATH}/pricing.json`}>pricing.json</a>
              </li>
              <li>
                <Link to="/docs">Docs</Link>
              </li>
              <li>
                <Link to="/docs/api">API reference</Link>
              </li>
              <li>
                <Link to="/status">Provider status</Link>
              </li>
            </ul>
          </nav>
        </div>
      </footer>
    </>
  )
}
