import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { pricingQuery, sessionQuery } from '../api/queries.ts'
import { usePageTitle } from '../components/layout/page.tsx'
import { CodeBlock } from '../components/text/copy.tsx'
import { plural } from '../lib/format.ts'
import { snippet } from '../lib/snippets.ts'
import '../styles/landing.css'
import { YardDrawing } from './yard-drawing.tsx'

/** What the service is, the one line that tries it, and why to believe it. */
export function LandingPage() {
  const heading = usePageTitle('One address for every model')
  const { data: session } = useQuery(sessionQuery)
  const { origin } = window.location
  return (
    <>
      <section className="hero">
        <div className="stack gap-5">
          <h1 ref={heading} tabIndex={-1}>
            One address for every model.
          </h1>
          <p className="hero-lead">
            Point the chat-completions library you already use at Switchyard. It routes each call to a healthy
            provider, fails over when one breaks, and charges the exact cost, to the last digit.
          </p>
          <p className="button-row">
            {session ? (
              <Link to="/dashboard" className="button button-primary button-large">
                Open the dashboard
              </Link>
            ) : (
              <Link to="/sign-up" className="button button-primary button-large">
                Start with free credit
              </Link>
            )}
            <Link to="/models" className="button button-large">
              Models and prices
            </Link>
          </p>
          <p className="muted small">No card for the free credit. No subscription, no minimum.</p>
        </div>
        <YardDrawing />
      </section>

      <section className="landing-band" aria-labelledby="first-call">
        <div className="landing-inner landing-call">
          <div className="stack-small">
            <h2 id="first-call">The first call</h2>
            <p>
              The same wire format, another base address. <code>auto</code> picks a model by the difficulty of
              the prompt; any id of the catalog pins one.
            </p>
            <CatalogCount />
          </div>
          <CodeBlock
            code={snippet('curl', { origin, apiKey: 'sk-sy-…', model: 'auto' })}
            of="a first call with curl"
          />
        </div>
      </section>

      <section className="landing-inner landing-promises" aria-labelledby="promises">
        <h2 id="promises">Three promises, and how to check them</h2>
        <ol className="grid-2 promises">
          <Promised
            title="A charge is never lost or doubled"
            proof={
              <>
                Every call is held before it is queued and booked in a double-entry ledger. Your{' '}
                <Link to="/usage">usage</Link> shows each charge to twelve decimals, and the sum of your
                statement <em>is</em> your balance.
              </>
            }
          >
            Cost is tokens times rate, never rounded up. A call that delivers nothing costs nothing.
          </Promised>
          <Promised
            title="A truncated completion never looks complete"
            proof={
              <>
                A stream that ends well ends with <code>[DONE]</code>. One that broke ends with an error and
                without it. There is no third way.
              </>
            }
          >
            When a provider fails midway, another takes over only if it continues exactly the text you have
            already seen.
          </Promised>
          <Promised
            title="Below the list price, always"
            proof={
              <>
                The makers' list price and ours stand side by side for every <Link to="/models">model</Link>,
                and in <a href="/pricing.json">pricing.json</a> for machines.
              </>
            }
          >
            At least 5% under what the maker lists, and more for open weights. No fee on top.
          </Promised>
        </ol>
      </section>
    </>
  )
}

function Promised(props: { title: string; proof: ReactNode; children: ReactNode }) {
  return (
    <li className="promise stack gap-3">
      <h3>{props.title}</h3>
      <p className="soft">{props.children}</p>
      <p className="small muted">
        <strong>Check it.</strong> {props.proof}
      </p>
    </li>
  )
}

/** How many models can be called here at this moment; nothing while that is not known. */
function CatalogCount() {
  const { data: feed } = useQuery(pricingQuery)
  if (!feed) return <p className="muted small catalog-count"> </p>
  const available = feed.data.filter(({ status }) => status === 'available')
  const vendors = new Set(available.map(({ vendor }) => vendor))
  return (
    <p className="muted small catalog-count">
      At this moment: {plural(available.length, 'model')} from {plural(vendors.size, 'maker')}.
    </p>
  )
}
