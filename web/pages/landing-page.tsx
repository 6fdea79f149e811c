import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { gatewayQuery, sessionQuery } from '../api/queries.ts'
import { usePageTitle } from '../components/layout/page.tsx'
import { CodeBlock } from '../components/text/copy.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { curlCall } from '../lib/curl-call.ts'
import { formatAmount, plural } from '../lib/format.ts'
import { gatewayAddress } from '../lib/gateway-address.ts'

/** The first page of a visit loads no font for the few lines in it. */
const SYSTEM_MONO = '[--font-mono:ui-monospace,monospace]'

/** What the service is, the one line that tries it, and why to believe it. */
export function LandingPage() {
  const heading = usePageTitle('One API for every model')
  const { data: session } = useQuery(sessionQuery)
  const credit = useQuery(gatewayQuery).data?.free_credit_usd ?? '0'
  const origin = gatewayAddress()
  return (
    <>
      <section
        className={`site-width grid items-center gap-8 py-[clamp(2rem,5vw,4rem)] min-[56rem]:grid-cols-2 ${SYSTEM_MONO}`}
      >
        <div className="stack gap-6">
          <h1 className="text-hero leading-[1.04] tracking-[-0.04em]" ref={heading} tabIndex={-1}>
            One API for every model.
          </h1>
          <p className="max-w-136 text-lead text-pretty text-soft">
            Point the OpenAI client library you already use at Shuntyard. It routes each call to a healthy
            provider, fails over when one breaks, and charges the exact cost, to the last digit.
          </p>
          <p className="row max-sm:[&>*]:basis-full">
            {session ? (
              <Link to="/dashboard" className="button button-primary button-large">
                Open the dashboard
              </Link>
            ) : (
              <Link to="/sign-up" className="button button-primary button-large">
                {/[1-9]/.test(credit)
                  ? `Start with ${formatAmount(credit)} of free credit`
                  : 'Create an account'}
              </Link>
            )}
            <Link to="/models" className="button button-large">
              Models and prices
            </Link>
          </p>
          <p className="text-sm text-muted">No credit card required. No subscription, no minimum.</p>
        </div>
        <YardDrawing />
      </section>

      <section className={`border-y border-line bg-surface ${SYSTEM_MONO}`} aria-labelledby="first-call">
        <div className="site-width grid items-center gap-8 py-[clamp(2rem,5vw,4rem)] min-[56rem]:grid-cols-[1fr_1.6fr]">
          <div className="stack gap-2">
            <h2 className="text-xl" id="first-call">
              The first call
            </h2>
            <p>
              OpenAI-compatible: change only the base URL. Set the model to any ID of the catalog, or to{' '}
              <code>auto</code> to let Shuntyard choose.
            </p>
            <CatalogCount />
          </div>
          <CodeBlock
            code={curlCall({ origin, apiKey: 'sk-sy-…', model: 'auto' })}
            of="a first call with curl"
          />
        </div>
      </section>

      <section className={`site-width py-[clamp(2rem,5vw,4rem)] ${SYSTEM_MONO}`} aria-labelledby="promises">
        <h2 className="text-xl" id="promises">
          Three promises, and how to verify them
        </h2>
        <ol className="columns mt-6 gap-8 [--column:18rem]">
          <Promised
            title="A charge is never lost or doubled"
            proof={
              <>
                Every call is reserved before it is queued and posted to a double-entry ledger. Your{' '}
                <Link to="/usage">usage</Link> has each charge to twelve decimals, and the sum of your
                statement is your balance.
              </>
            }
          >
            Cost is tokens times rate, never rounded up. Failed calls that deliver nothing are free.
          </Promised>
          <Promised
            title="A truncated completion never looks complete"
            proof={
              <>
                A complete stream ends with <code>[DONE]</code>. A broken one ends with an error and without
                it.
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
                The developer's list price and ours are shown side by side for every{' '}
                <Link to="/models">model</Link> and in <a href={`${BASE_PATH}/pricing.json`}>pricing.json</a>.
              </>
            }
          >
            At least 5% below the developer's list price, and more for open weights. No fee on top.
          </Promised>
        </ol>
      </section>
    </>
  )
}

const Promised = (props: { title: string; proof: ReactNode; children: ReactNode }) => (
  <li className="stack content-start gap-3 border-t-2 border-accent-fill pt-4 text-pretty">
    <h3 className="text-lg">{props.title}</h3>
    <p className="text-soft">{props.children}</p>
    <p className="text-sm text-muted">
      <strong className="text-ink">How to verify:</strong> {props.proof}
    </p>
  </li>
)

/** How many models can be called here at this moment; nothing while that is not known. */
function CatalogCount() {
  const { data: gateway } = useQuery(gatewayQuery)
  return (
    <p className="min-h-[1.5em] text-sm text-muted">
      {gateway &&
        `${plural(gateway.catalog.models, 'model')} from ${plural(gateway.catalog.developers, 'developer')} available now.`}
    </p>
  )
}

/**
 * The picture of the landing page: a call comes in on one track, the first provider is out of service, the switch
 * leads it to the next. Decoration only; the text beside it says the same.
 */
const YardDrawing = () => (
  <svg
    className="h-auto w-full max-w-120 justify-self-center min-[56rem]:max-w-none"
    viewBox="0 0 560 400"
    fill="none"
    aria-hidden="true"
  >
    <g stroke="var(--color-line-strong)" strokeWidth="2" opacity="0.65">
      <path d="M170 200h60c60 0 60-140 120-140h190" />
      <path d="M170 200h60c60 0 60-70 120-70h190" strokeDasharray="3 7" />
      <path d="M20 200h520" />
      <path d="M170 200h60c60 0 60 70 120 70h190" />
      <path d="M170 200h60c60 0 60 140 120 140h190" />
    </g>
    <g stroke="var(--color-line-strong)" strokeWidth="2" opacity="0.45">
      {TIES.map((x) => (
        <path key={x} d={`M${x} 190v20`} />
      ))}
    </g>
    <path d={ROUTE} stroke="var(--color-accent-fill)" strokeWidth="4" strokeLinecap="round" />
    <path
      className="yard-train"
      d={ROUTE}
      pathLength="100"
      stroke="var(--color-page)"
      strokeWidth="2"
      strokeLinecap="round"
    />
    <path
      d="M381 119l22 22M403 119l-22 22"
      stroke="var(--color-bad)"
      strokeWidth="3.5"
      strokeLinecap="round"
    />
    <circle
      cx="230"
      cy="200"
      r="8"
      fill="var(--color-page)"
      stroke="var(--color-accent-fill)"
      strokeWidth="4"
    />
    {SIGNALS.map(([y, colour]) => (
      <circle key={y} cx="540" cy={y} r="6" fill={colour} />
    ))}
    <g fill="var(--color-muted)" fontFamily="var(--font-mono)" fontSize="13">
      <text x="20" y="176">
        your call
      </text>
      <text x="204" y="176">
        switch
      </text>
      <text x="536" y="296" textAnchor="end">
        completion
      </text>
      <text x="536" y="116" textAnchor="end">
        provider down
      </text>
    </g>
  </svg>
)

const TIES = Array.from({ length: 8 }, (_, index) => 36 + index * 20)

const ROUTE = 'M20 200h210c60 0 60 70 120 70h190'

const SIGNALS = [
  [60, 'var(--color-good)'],
  [130, 'var(--color-bad)'],
  [200, 'var(--color-good)'],
  [270, 'var(--color-good)'],
  [340, 'var(--color-good)'],
] as const
