import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { QueryView } from '../../components/feedback/messages.tsx'
import { SitePage } from '../../components/layout/page.tsx'
import { DOC_PAGES, type DocPage as Doc } from '../../lib/docs/doc-pages.ts'
import { bodyOf } from '../../lib/docs/doc-text.ts'
import { gatewayAddress } from '../../lib/gateway-address.ts'
import { NotFoundPage } from '../not-found-page.tsx'
import { DocMarkdown } from './doc-markdown.tsx'
import { docQuery, findDoc } from './doc-query.ts'

/** A page of docs/ for users, with the address of this gateway. */
export function DocPage() {
  const { page: slug } = useParams({ from: '/open/docs/$page' })
  const doc = findDoc(slug)
  return doc ? <DocView key={slug} doc={doc} /> : <NotFoundPage />
}

const DocView = ({ doc }: { doc: Doc }) => (
  <SitePage title={doc.title}>
    <QueryView query={useQuery(docQuery(doc))}>
      {(markdown) => (
        <>
          <DocText markdown={markdown} />
          <NextPage doc={doc} />
        </>
      )}
    </QueryView>
  </SitePage>
)

function DocText({ markdown }: { markdown: string }) {
  const hash = useLocation({ select: (location) => location.hash })
  // The text may come after the router looked for the heading.
  useEffect(() => {
    if (hash !== '') document.getElementById(hash)?.scrollIntoView()
  }, [hash])
  return <DocMarkdown text={bodyOf(markdown, gatewayAddress())} />
}

function NextPage({ doc }: { doc: Doc }) {
  const next = DOC_PAGES[DOC_PAGES.indexOf(doc) + 1]
  if (!next) return null
  return (
    <nav className="border-t border-line pt-4" aria-label="Next page">
      Next:{' '}
      <Link to="/docs/$page" params={{ page: next.slug }}>
        {next.title}
      </Link>
    </nav>
  )
}
