import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { surfacesQuery } from '../api/queries.ts'
import { QueryView } from '../components/feedback/messages.tsx'
import { Panel, SitePage } from '../components/layout/page.tsx'
import { DataTable, TwoLines } from '../components/table/data-table.tsx'
import { Code } from '../components/text/code.tsx'
import { CodeSpans } from '../components/text/code-spans.tsx'
import { Facts } from '../components/text/values.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { STATUS_WORDS, StatusBadge } from './reference/status-badge.tsx'

const MEANINGS = Object.fromEntries(Object.values(STATUS_WORDS).map(({ name, meaning }) => [name, meaning]))

/** Every endpoint of the API, its status and the evidence for it. */
export function StatusPage() {
  const query = useQuery(surfacesQuery)
  return (
    <SitePage
      title="Status of the API"
      description={
        <>
          Stability of each endpoint. One is Stable only while the release gate has passed for its present
          contract. See also the <Link to="/status/providers">status of providers</Link>. JSON:{' '}
          <a href={`${BASE_PATH}/surfaces.json`}>surfaces.json</a>.
        </>
      }
    >
      <Panel title="What a status means" padded>
        <Facts wide rows={MEANINGS} />
      </Panel>
      <Panel title="Endpoints">
        <QueryView query={query}>
          {({ data }) => (
            <DataTable
              caption="Endpoints and their status"
              rows={data}
              columns={{
                Endpoint: ({ id, method, path, behaviour, schema }) => (
                  <TwoLines second={<CodeSpans text={behaviour} />}>
                    {schema === null ? (
                      <Code>{`${method} ${path}`}</Code>
                    ) : (
                      <Link to="/docs/api" hash={id}>
                        <Code>{`${method} ${path}`}</Code>
                      </Link>
                    )}
                  </TwoLines>
                ),
                Status: ({ status, deprecation, sunset }) => (
                  <TwoLines second={lifecycle(deprecation, sunset)}>
                    <StatusBadge status={status} />
                  </TwoLines>
                ),
                Evidence: ({ evidence }) =>
                  evidence === null ? (
                    '–'
                  ) : (
                    <TwoLines second={<code>{evidence.commit.slice(0, 12)}</code>}>
                      {evidence.passed ? 'passed' : 'failed'} on {evidence.date.slice(0, 10)}
                    </TwoLines>
                  ),
              }}
            />
          )}
        </QueryView>
      </Panel>
    </SitePage>
  )
}

const lifecycle = (deprecation: string | null, sunset: string | null): string | undefined =>
  [deprecation && `deprecated ${deprecation.slice(0, 10)}`, sunset && `ends ${sunset.slice(0, 10)}`]
    .filter(Boolean)
    .join(', ') || undefined
