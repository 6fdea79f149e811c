import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { openapiQuery } from '../api/queries.ts'
import { QueryView } from '../components/feedback/messages.tsx'
import { Panel, SitePage } from '../components/layout/page.tsx'
import { CodeSpans } from '../components/text/code-spans.tsx'
import { Badge, Facts } from '../components/text/values.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { type Operation, operationsOf } from '../lib/openapi-view.ts'
import { OperationDetails } from './reference/operation-details.tsx'
import { STATUS_WORDS, StatusBadge } from './reference/status-badge.tsx'

const TAGS = {
  Gateway: 'Gateway',
  Public: 'Without a key',
  Billing: 'Top-ups',
  Console: 'Console',
  Operator: 'Operators',
}

const MEANINGS = Object.fromEntries(Object.values(STATUS_WORDS).map(({ name, meaning }) => [name, meaning]))

/** Every operation of the OpenAPI document, with its examples. */
export function ApiReferencePage() {
  const query = useQuery(openapiQuery)
  return (
    <SitePage
      title="API reference"
      description={
        <>
          Every operation, from the OpenAPI document at <a href={`${BASE_PATH}/openapi.json`}>openapi.json</a>
          . See also the <Link to="/docs">quick start</Link>. The evidence for each status is in{' '}
          <a href={`${BASE_PATH}/surfaces.json`}>surfaces.json</a>.
        </>
      }
    >
      <Panel title="What a status means" padded>
        <Facts wide rows={MEANINGS} />
      </Panel>
      <QueryView query={query}>
        {(document) => {
          const operations = operationsOf(document)
          return Object.entries(TAGS).map(([tag, title]) => (
            <Panel key={tag} title={title} padded>
              {operations
                .filter((operation) => operation.tag === tag)
                .map((operation) => (
                  <OperationRow key={`${operation.method} ${operation.path}`} operation={operation} />
                ))}
            </Panel>
          ))
        }}
      </QueryView>
    </SitePage>
  )
}

/** An operation in a line that opens; what is inside is not made before. The address may name one. */
function OperationRow({ operation }: { operation: Operation }) {
  const { id, method, path, summary, status, deprecated } = operation
  const isNamed = useLocation({ select: ({ hash }) => hash }) === id
  const [isOpen, setIsOpen] = useState(isNamed)
  const row = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (isNamed) row.current?.scrollIntoView()
  }, [isNamed])
  return (
    <details
      ref={row}
      id={id}
      className="disclosure"
      open={isOpen}
      onToggle={(event) => setIsOpen(event.currentTarget.open)}
    >
      <summary>
        <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
          <code className="wrap-anywhere">
            {method} {path}
          </code>
          <span className="wrap-anywhere text-muted">
            <CodeSpans text={summary} />
          </span>
          {status && <StatusBadge status={status} />}
          {deprecated && <Badge tone="warn">deprecated</Badge>}
        </span>
      </summary>
      {isOpen && <OperationDetails operation={operation} />}
    </details>
  )
}
