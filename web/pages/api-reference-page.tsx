import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { PublishedSurface } from '../../src/core/api/surfaces/surfaces.ts'
import { openapiQuery } from '../api/queries.ts'
import { QueryView } from '../components/feedback/messages.tsx'
import { Panel, SitePage } from '../components/layout/page.tsx'
import { TabbedCode } from '../components/text/snippets.tsx'
import { Badge, Facts } from '../components/text/values.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { type Operation, operationsOf, type SchemaField } from '../lib/openapi-view.ts'

const TAGS = {
  Gateway: 'Gateway',
  Public: 'Without a key',
  Billing: 'Top-ups',
  Console: 'Console',
  Operator: 'Operators',
}

type Status = PublishedSurface['status']

interface Words {
  name: string
  meaning: string
  tone?: 'good' | 'accent'
}

/** The text about a status, in the order of the API's promises. */
const STATUS_WORDS: Record<Status, Words> = {
  Stable: { name: 'Stable', meaning: 'A contract: it passed the release gate as it is.', tone: 'good' },
  Limited: { name: 'Beta', meaning: 'Works, and may change.', tone: 'accent' },
  'Provider-specific': {
    name: 'Provider-specific',
    meaning: 'Works where routing selects a target that speaks this protocol.',
  },
  'Not release-ready': {
    name: 'Preview',
    meaning: 'Has not passed its release gate; an operator may open it to an account.',
  },
  'Not a product-key surface': {
    name: 'On request',
    meaning: 'Not for the keys of accounts, unless an operator opens it.',
  },
  'Not implemented': { name: 'Not implemented', meaning: 'Has no handler.' },
  Public: { name: 'Public', meaning: 'Needs no key.', tone: 'accent' },
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

/** A sentence in which names stand between backticks, as in Markdown. */
const CodeSpans = ({ text }: { text: string }) =>
  text.split('`').map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their places
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  )

/** The status of an endpoint. A status that this build does not know is shown as the API names it. */
function StatusBadge({ status }: { status: string }) {
  const { name, tone = 'plain' } = (STATUS_WORDS as Partial<Record<string, Words>>)[status] ?? {
    name: status,
  }
  return <Badge tone={tone}>{name}</Badge>
}

/** What an operation takes and answers, and programs that call it. */
function OperationDetails({ operation }: { operation: Operation }) {
  const { summary, description, samples, parameters, bodies, responses } = operation
  return (
    <div className="stack gap-4 pt-3">
      {description && description !== summary && <p>{description}</p>}
      {samples.length > 0 && (
        <TabbedCode
          label={`Language of the example of ${operation.id}`}
          about={`example of ${operation.id}`}
          codes={samples.map(({ label, source }) => ({ id: label, name: label, code: source }))}
        />
      )}
      {parameters.length > 0 && (
        <section className="stack gap-2">
          <h3>Parameters</h3>
          <Fields fields={parameters} />
        </section>
      )}
      {bodies.map(({ mediaType, type, fields }) => (
        <section key={mediaType} className="stack gap-2">
          <h3>
            Request body <code className="text-muted">{mediaType}</code>
          </h3>
          {fields.length > 0 ? <Fields fields={fields} /> : <p>{type}</p>}
        </section>
      ))}
      {responses.map(({ status, description: words, mediaType, fields }) => (
        <section key={`${status} ${mediaType}`} className="stack gap-2">
          <h3>
            {status === 'default' ? 'Every other status' : status}{' '}
            {mediaType && <code className="text-muted">{mediaType}</code>}
          </h3>
          {words && <p className="wrap-anywhere">{words}</p>}
          {fields.length > 0 && <Fields fields={fields} />}
        </section>
      ))}
    </div>
  )
}

/** The fields of a schema; those inside one are a list of their own. */
const Fields = ({ fields }: { fields: SchemaField[] }) => (
  <ul className="stack min-w-0 gap-2 border-l border-line pl-2 sm:pl-4">
    {fields.map(({ name, type, required, notes, fields: inner }) => (
      <li key={name} className="stack min-w-0 gap-1">
        <p className="wrap-anywhere">
          <code>{name}</code> <span className="text-muted">{type}</span>
          {required && <span className="text-warn"> required</span>}
          {notes.length > 0 && <span className="text-sm text-muted"> · {notes.join(' · ')}</span>}
        </p>
        {inner.length > 0 && <Fields fields={inner} />}
      </li>
    ))}
  </ul>
)
