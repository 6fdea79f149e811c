import { type QueryClient, useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { wasSignedIn } from '../lib/signed-in-hint.ts'
import { FrameSkeleton } from './frame-skeleton.tsx'
import { lazyPart } from './page-route.ts'
import { SiteLayout } from './site-layout.tsx'

const AccountLayout = lazyPart(() => import('./account-layout.tsx'), 'AccountLayout')

/** Waits for the session where there probably is one, so that no other frame is drawn first. */
export async function loadOpenFrame(client: QueryClient): Promise<void> {
  const session = client.ensureQueryData(sessionQuery).catch(() => null)
  if (wasSignedIn() && (await session)) await AccountLayout.preload?.()
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
