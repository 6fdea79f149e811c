import { Link } from '@tanstack/react-router'
import { messageOf } from '../api/request.ts'
import { Button } from '../components/form/button.tsx'
import { CenterPage } from '../components/layout/page.tsx'
import { BASE_PATH } from '../lib/base-path.ts'

/** For an address without a page. */
export function NotFoundPage() {
  return (
    <CenterPage title="There is no page here" name="Not found">
      <p>The address may be mistyped, or the page was moved.</p>
      <p className="row">
        <Link to="/" className="button button-primary">
          Go home
        </Link>
        <Link to="/models" className="button">
          See the models
        </Link>
      </p>
    </CenterPage>
  )
}

/** For a page that could not be shown: the gateway cannot be reached, or the page itself failed. */
export function CrashPage({ error }: { error: unknown }) {
  return (
    <CenterPage title="This page could not be shown" name="Something went wrong">
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
