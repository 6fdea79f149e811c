import { Link } from '@tanstack/react-router'
import { Fragment, type ReactNode } from 'react'
import { Panel } from '../components/panel.tsx'
import { Snippets } from '../components/snippets.tsx'
import { usePageTitle } from '../components/use-page-title.ts'

interface Row {
  what: string
  means: ReactNode
}

const ROUTING: Row[] = [
  {
    what: 'model: "auto"',
    means:
      'Picks a model by the difficulty of the prompt. routing_profile (eco, auto, premium, agentic) biases it.',
  },
  { what: 'models: ["a", "b"]', means: 'Tried in order until one answers; you pay for the one that did.' },
  {
    what: ':nitro · :floor · :exacto',
    means: 'After an id: favour throughput, favour price, exact tool calls only.',
  },
  {
    what: 'provider: {"zdr": true}',
    means: 'Only providers that keep no data. Fails rather than route elsewhere.',
  },
  {
    what: 'provider: {"max_price": …}',
    means: 'Caps the rates, or with request the cost of the whole call.',
  },
  {
    what: 'Idempotency-Key',
    means: 'A header: a repeat attaches to the running call or gets its answer again, and is charged once.',
  },
]

const ERRORS: Row[] = [
  { what: '400 · 422', means: 'The request is wrong; the message says what. Do not retry.' },
  { what: '401 · 403', means: 'The key is missing, wrong or revoked. Replace it.' },
  {
    what: '402',
    means: (
      <>
        The balance or the key's limit does not cover the call. <Link to="/billing">Top up</Link> or shorten
        it.
      </>
    ),
  },
  { what: '408 · 429', means: 'Wait as long as Retry-After says, then retry.' },
  { what: '5xx', means: 'Retry with backoff. Every provider that could answer was tried already.' },
]

/** How to call the gateway, on one page. */
export function DocsPage() {
  const heading = usePageTitle('Docs')
  return (
    <div className="site-page stack">
      <div className="page-head-text">
        <h1 ref={heading} tabIndex={-1}>
          Docs
        </h1>
        <p className="muted">
          The chat-completions wire format, at another address: <code>{window.location.origin}/v1</code>.
          Client libraries for it work as they are.
        </p>
      </div>
      <Panel title="1. A key and a call">
        <div className="panel-body">
          <p>
            <Link to="/sign-up">Create an account</Link>. Then <Link to="/keys">create a key</Link> and keep
            it on a server.
          </p>
          <Snippets apiKey="sk-sy-…" />
        </div>
      </Panel>
      <Panel title="2. Streaming">
        <div className="panel-body">
          <p>
            With <code>"stream": true</code> the answer comes as <code>data:</code> lines and ends with{' '}
            <code>data: [DONE]</code>. An answer that ends without it is not whole: the last line then has an{' '}
            <code>error</code>.
          </p>
        </div>
      </Panel>
      <Panel title="3. Routing">
        <div className="panel-body">
          <Rows rows={ROUTING} />
        </div>
      </Panel>
      <Panel title="4. Errors">
        <div className="panel-body">
          <p>
            Every error has <code>error.message</code> for people, <code>error.code</code> for programs, and
            the <code>x-request-id</code> to report.
          </p>
          <Rows rows={ERRORS} />
        </div>
      </Panel>
      <Panel title="5. Prices">
        <div className="panel-body">
          <p>
            A call costs its tokens times the listed rates, exactly: nothing is rounded up, and one that
            delivers nothing costs nothing. The rates are on the <Link to="/models">models page</Link> and,
            for machines, in <a href="/pricing.json">pricing.json</a>.
          </p>
        </div>
      </Panel>
    </div>
  )
}

function Rows({ rows }: { rows: Row[] }) {
  return (
    <dl className="facts facts-wide">
      {rows.map(({ what, means }) => (
        <Fragment key={what}>
          <dt>
            <code>{what}</code>
          </dt>
          <dd>{means}</dd>
        </Fragment>
      ))}
    </dl>
  )
}
