import { Link } from '@tanstack/react-router'
import { messageOf } from '../api/request.ts'
import { usePageTitle } from '../components/use-page-title.ts'

/** For an address without a page. */
export function NotFoundPage() {
  const heading = usePageTitle('Not found')
  return (
    <div className="center-page">
      <h1 ref={heading} tabIndex={-1}>
        There is no page here
      </h1>
      <p>The address may be mistyped, or the page was moved.</p>
      <p className="button-row">
        <Link to="/" className="button button-primary">
          Go home
        </Link>
        <Link to="/models" className="button">
          See the models
        </Link>
      </p>
    </div>
  )
}

/** For a page that could not be shown: the gateway is away, or the page itself broke. */
export function CrashPage({ error }: { error: unknown }) {
  const heading = usePageTitle('Something went wrong')
  return (
    <div className="center-page">
      <h1 ref={heading} tabIndex={-1}>
        This page could not be shown
      </h1>
      <p>{messageOf(error)}</p>
      <p className="button-row">
        <button type="button" className="button button-primary" onClick={() => window.location.reload()}>
          Reload
        </button>
        <a href="/" className="button">
          Go home
        </a>
      </p>
    </div>
  )
}
