import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { messageOf, RequestFailure, reach, VISITOR_PATH } from '../api/request.ts'
import { Button } from '../components/form/button.tsx'
import { CenterPage } from '../components/layout/page.tsx'
import { BASE_PATH } from '../lib/base-path.ts'

const RETRY_TIMEOUT_MS = 10_000

/** For an address without a page. */
export const NotFoundPage = () => (
  <CenterPage title="Page not found" name="Not found">
    <p>Check the address, or start from one of these pages.</p>
    <p className="row">
      <Link to="/" className="button button-primary">
        Go home
      </Link>
      <Link to="/models" className="button">
        Browse models
      </Link>
    </p>
  </CenterPage>
)

/** For a page that could not be shown: the gateway cannot be reached, or the page itself failed. */
export function CrashPage({ error }: { error: unknown }) {
  if (error instanceof RequestFailure && error.status === 0) return <OfflinePage failure={error} />
  return (
    <CenterPage title="Something went wrong">
      <p>{messageOf(error)}</p>
      <p className="row">
        <Button kind="primary" onClick={() => window.location.reload()}>
          Reload
        </Button>
        <a href={`${BASE_PATH}/`} className="button">
          Go home
        </a>
      </p>
    </CenterPage>
  )
}

/**
 * For a page that needs the gateway while it cannot be reached. It is loaded again once it can, since browsers keep it
 * in mind that a part of a page could not be loaded.
 */
function OfflinePage({ failure }: { failure: RequestFailure }) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      reach(VISITOR_PATH, { cache: 'no-store', signal: AbortSignal.timeout(RETRY_TIMEOUT_MS) }),
    onSuccess: () => window.location.reload(),
  })
  useEffect(() => {
    const onOnline = () => mutate()
    window.addEventListener('online', onOnline)
    return () => window.removeEventListener('online', onOnline)
  }, [mutate])
  return (
    <CenterPage title={navigator.onLine ? 'The gateway cannot be reached' : 'You are offline'}>
      <p role="status">{isPending ? 'Trying again …' : messageOf(error ?? failure)}</p>
      <p>This page opens by itself as soon as you are online again.</p>
      <p>
        <Button kind="primary" disabled={isPending} onClick={() => mutate()}>
          Try again
        </Button>
      </p>
    </CenterPage>
  )
}
