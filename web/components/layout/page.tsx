import { Link } from '@tanstack/react-router'
import { type ComponentProps, type ReactNode, type RefObject, useEffect, useId, useRef } from 'react'

/**
 * The heading of a page, a sentence on what it is for, and what can be done there. `docs`: the page of the docs about it.
 * `back` links to its parent.
 */
export function PageHead(props: {
  title: string
  description?: ReactNode
  docs?: string
  actions?: ReactNode
  back?: ReactNode
}) {
  const { title, description, docs, actions, back } = props
  const heading = usePageTitle(title)
  return (
    <>
      {back && (
        <nav className="text-sm [&_a]:inline-block [&_a]:py-1" aria-label="Breadcrumb">
          {back}
        </nav>
      )}
      <header className="spread items-start gap-x-6 gap-y-3">
        <div className="stack max-w-176 gap-1">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {description && (
            <p className="text-muted">
              {description}
              {docs && (
                <>
                  {' '}
                  <Link to="/docs/$page" params={{ page: docs }}>
                    Learn more<span className="sr-only"> about {title}</span>
                  </Link>
                </>
              )}
            </p>
          )}
        </div>
        {actions && <div className="row">{actions}</div>}
      </header>
    </>
  )
}

/** A page that everyone may see, with its heading. */
export const SitePage = ({
  children,
  ...head
}: ComponentProps<typeof PageHead> & { children: ReactNode }) => (
  <div className="site-width site-page stack">
    <PageHead {...head} />
    {children}
  </div>
)

/** A page of one narrow column, for signing in and for messages. `name` is its title in the browser. */
export function CenterPage(props: { title: string; name?: string; lead?: ReactNode; children: ReactNode }) {
  const { title, name = title, lead, children } = props
  const heading = usePageTitle(name)
  return (
    <div className="stack mx-auto mt-[clamp(1.5rem,7vh,5rem)] mb-20 max-w-108 gap-6 px-4">
      <div className="stack gap-2">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {lead && <p className="text-muted">{lead}</p>}
      </div>
      {children}
    </div>
  )
}

/** A part of a page with a heading of its own. `padded`: for anything but a table. */
export function Panel(props: { title: string; actions?: ReactNode; children: ReactNode; padded?: boolean }) {
  const { title, actions, children, padded = false } = props
  const id = useId()
  return (
    <section className="panel" aria-labelledby={id}>
      <div className="panel-head spread px-inset pt-4">
        <h2 id={id}>{title}</h2>
        {actions}
      </div>
      {padded ? <div className="panel-body">{children}</div> : children}
    </section>
  )
}

/** Not on the page a visit begins with: there the browser's own place for the focus is right. */
let hasNavigated = false

/** Called by the router's layout once a navigation has begun. */
export function noteNavigation(): void {
  hasNavigated = true
}

/**
 * Names the page in the browser's title, and moves the focus to its heading after a navigation, so that screen
 * readers and keyboards begin where the new page does. The ref belongs on the h1, with tabIndex -1.
 */
export function usePageTitle(title: string): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Shuntyard`
  }, [title])
  useEffect(() => {
    if (hasNavigated) heading.current?.focus({ preventScroll: true })
  }, [])
  return heading
}
