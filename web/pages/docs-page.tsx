import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { sessionQuery } from '../api/queries.ts'
import { Panel, SitePage } from '../components/layout/page.tsx'
import { Snippets } from '../components/text/snippets.tsx'
import { Facts } from '../components/text/values.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { DOC_GROUPS } from '../lib/docs/doc-pages.ts'
import { gatewayAddress } from '../lib/gateway-address.ts'

/** Where the docs begin: the address of the gateway, a first call, and every page. */
export function DocsPage() {
  const { data: session } = useQuery(sessionQuery)
  return (
    <SitePage
      title="Docs"
      description={
        <>
          OpenAI-compatible: set the base URL to <code>{gatewayAddress()}/v1</code> and keep your client
          library.
        </>
      }
    >
      <Panel title="Your first request" padded>
        <Snippets apiKey="sk-sy-…" />
        <p>
          {!session && (
            <>
              <Link to="/sign-up">Create an account</Link>.{' '}
            </>
          )}
          <Link to="/keys">Create an API key</Link>. Step by step:{' '}
          <Link to="/docs/$page" params={{ page: 'quick-start' }}>
            Quick start
          </Link>
          .
        </p>
      </Panel>
      {DOC_GROUPS.map(({ name, pages }) => (
        <Panel key={name} title={name} padded>
          <ul className="columns gap-y-4">
            {pages.map(({ slug, title, about }) => (
              <li key={slug}>
                <Link to="/docs/$page" params={{ page: slug }}>
                  {title}
                </Link>
                <p className="text-sm text-muted">{about}</p>
              </li>
            ))}
          </ul>
        </Panel>
      ))}
      <Panel title="Reference" padded>
        <Facts
          wide
          rows={{
            'API reference': (
              <Link to="/docs/api">Every operation, with its status, schema and examples</Link>
            ),
            Status: <Link to="/status">Uptime and latency of the providers</Link>,
            Prices: (
              <>
                <Link to="/models">Models and prices</Link>, and as JSON{' '}
                <a href={`${BASE_PATH}/pricing.json`}>pricing.json</a>
              </>
            ),
          }}
        />
      </Panel>
    </SitePage>
  )
}
