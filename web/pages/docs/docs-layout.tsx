import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useParams } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { SearchButton } from '../../app/command-palette.tsx'
import { DOC_GROUPS, type DocPage } from '../../lib/docs/doc-pages.ts'
import { sectionsOf } from '../../lib/docs/doc-text.ts'
import { docQuery, findDoc } from './doc-query.ts'

/** The frame of the docs: their navigation, with the headings of the open page, beside the page. */
export function DocsLayout() {
  const { page } = useParams({ strict: false })
  const doc = findDoc(page)
  const isReady = useReady(doc)
  return (
    <div className="docs-frame site-width">
      <div className="docs-aside">
        <SearchButton />
        <div className={`stack max-lg:hidden ${isReady ? '' : 'invisible'}`}>
          <DocsNavigation doc={doc} />
        </div>
        <details className="disclosure lg:hidden" key={page ?? 'docs'}>
          <summary>All pages{doc && ' · On this page'}</summary>
          <DocsNavigation doc={doc} />
        </details>
      </div>
      <div className="docs-content">
        <Outlet />
      </div>
    </div>
  )
}

/** Whether the headings of the first page are there: they would push the pages below them down. */
function useReady(doc: DocPage | undefined): boolean {
  const [isReady, setIsReady] = useState(doc === undefined)
  const { isPending } = useQuery({ ...docQuery(doc ?? DOC_GROUPS[0]!.pages[0]!), enabled: !isReady })
  useEffect(() => {
    if (!isPending) setIsReady(true)
  }, [isPending])
  return isReady || !isPending
}

const DocsNavigation = ({ doc }: { doc: DocPage | undefined }) => (
  <nav className="docs-navigation stack" aria-label="Docs">
    <Group name="Docs">
      <li>
        <Link to="/docs" activeOptions={{ exact: true }}>
          Overview
        </Link>
      </li>
    </Group>
    {DOC_GROUPS.map(({ name, pages }) => (
      <Group key={name} name={name}>
        {pages.map((each) => (
          <li key={each.slug}>
            <Link to="/docs/$page" params={{ page: each.slug }}>
              {each.title}
            </Link>
            {each === doc && <Headings doc={doc} />}
          </li>
        ))}
      </Group>
    ))}
    <Group name="Reference">
      <li>
        <Link to="/docs/api">API reference</Link>
      </li>
      <li>
        <Link to="/status">Provider status</Link>
      </li>
    </Group>
  </nav>
)

const Group = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <p className="text-xs font-medium text-muted">{name}</p>
    <ul>{children}</ul>
  </div>
)

/** The table of contents of the open page. */
function Headings({ doc }: { doc: DocPage }) {
  const { data: markdown = '' } = useQuery(docQuery(doc))
  const sections = sectionsOf(markdown).filter(({ depth }) => depth === 2)
  if (sections.length === 0) return null
  return (
    <ul aria-label="On this page">
      {sections.map(({ id, title }) => (
        <li key={id}>
          <Link to="/docs/$page" params={{ page: doc.slug }} hash={id} activeOptions={{ includeHash: true }}>
            {title}
          </Link>
        </li>
      ))}
    </ul>
  )
}
