import type { ReactNode } from 'react'
import { usePageTitle } from './use-page-title.ts'

/** The heading of a page, a sentence on what it is for, and what can be done there. */
export function PageHead(props: { title: string; description?: ReactNode; actions?: ReactNode }) {
  const heading = usePageTitle(props.title)
  return (
    <header className="page-head">
      <div className="page-head-text">
        <h1 ref={heading} tabIndex={-1}>
          {props.title}
        </h1>
        {props.description && <p className="muted">{props.description}</p>}
      </div>
      {props.actions && <div className="page-head-actions">{props.actions}</div>}
    </header>
  )
}
