import { Link } from '@tanstack/react-router'
import { messageOf } from '../api/request.ts'
import { Button } from '../components/form/button.tsx'
import { CenterPage } from '../components/layout/page.tsx'
import { BASE_PATH } from '../lib/base-path.ts'

/** For an address without a page. */
export function NotFoundPage() {
  return (
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
}

/** For a page that could not be shown: the gateway cannot be reached, or the page itself failed. */
export function CrashPage({ error }: { error: unknown }) {
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
