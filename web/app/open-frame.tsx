import { type QueryClient, useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { lazyPart } from '../api/lazy-part.ts'
import { sessionQuery, visitorQuery } from '../api/queries.ts'
import { SkeletonLines } from '../components/feedback/messages.tsx'
import { Brand } from '../components/layout/brand.tsx'
import { wasSignedIn } from '../lib/signed-in-hint.ts'
import { SiteLayout } from './site-layout.tsx'

const AccountLayout = lazyPart(async () => (await import('./account-layout.tsx')).AccountLayout)

/** Waits for the session where there probably is one, so that no other frame is drawn first. */
export async function loadOpenFrame(client: QueryClient): Promise<void> {
  const visitor = client.ensureQueryData(visitorQuery).catch(() => null)
  if (wasSignedIn() && (await visitor)?.session) await AccountLayout.preload?.()
}

/** The frame of pages for everyone: that of the account with a session, else that of the site. */
export function OpenFrame() {
  const { data: session } = useQuery(sessionQuery)
  if (!session) return <SiteLayout />
  return (
    <Suspense fallback={<FrameSkeleton />}>
      <AccountLayout />
    </Suspense>
  )
}

/** The frame of signed-in pages while the session is read. */
export const FrameSkeleton = () => (
  <div className="grid flex-1 grid-cols-1 content-start lg:grid-cols-[15rem_minmax(0,1fr)] lg:content-stretch">
    <header className="border-b border-line px-4 py-2 lg:border-r lg:border-b-0 lg:bg-surface lg:p-3 [&>a]:lg:mx-3">
      <Brand />
    </header>
    <main id="main" className="px-4 pt-6 lg:px-[clamp(1rem,3vw,3rem)] lg:pt-8" tabIndex={-1}>
      <div className="mx-auto max-w-320">
        <h1 className="sr-only">Loading …</h1>
        <SkeletonLines />
      </div>
    </main>
  </div>
)
