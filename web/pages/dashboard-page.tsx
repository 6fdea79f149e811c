import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Check, MessageSquareText } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import type { SessionView } from '../../src/core/api/sessions.ts'
import type { FreeCreditState } from '../../src/core/billing/free-credit-state.ts'
import { callsQuery, keysQuery, sessionQuery, usageQuery } from '../api/queries.ts'
import { CallTable } from '../components/call-table.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Money } from '../components/money.tsx'
import { Note } from '../components/note.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { QueryView } from '../components/query-view.tsx'
import { SpendByDay } from '../components/spend-by-day.tsx'
import { lastDays } from '../lib/dates.ts'
import { formatCount } from '../lib/figures.ts'
import { whyNoFreeCredit } from '../lib/free-credit.ts'

const DAYS = 30
const CALLS_SHOWN = 8

/** Where an account holder starts: the balance, what to do next, and what happens at this moment. */
export function DashboardPage() {
  const { data: session } = useQuery(sessionQuery)
  const span = useMemo(() => lastDays(DAYS, new Date()), [])
  const usage = useQuery(usageQuery(span, 'day'))
  const calls = useInfiniteQuery(callsQuery({}, CALLS_SHOWN))
  if (!session) return null
  const latest = calls.data?.pages[0]?.data
  return (
    <>
      <PageHead
        title="Dashboard"
        actions={
          <>
            <Link to="/playground" className="button">
              Playground
            </Link>
            <Link to="/billing" className="button button-primary">
              Top up
            </Link>
          </>
        }
      />
      <Balance session={session} cost={usage.data?.total.cost_usd} calls={usage.data?.total.calls} />
      {session.account.state === 'exhausted' && (
        <Note tone="warn">
          <WhyEmpty freeCredit={session.account.free_credit} /> Calls are refused until you{' '}
          <Link to="/billing">top up</Link>.
        </Note>
      )}
      <FirstSteps hasCalls={latest !== undefined && latest.length > 0} />
      <Panel title={`Spend, last ${DAYS} days`} actions={<Link to="/usage">All usage</Link>}>
        <div className="panel-body">
          <QueryView query={usage} loading={<span className="skeleton skeleton-block" />}>
            {(view) => <SpendByDay usage={view} />}
          </QueryView>
        </div>
      </Panel>
      <Panel title="Latest calls">
        <QueryView query={calls}>
          {() =>
            latest && latest.length > 0 ? (
              <CallTable calls={latest} />
            ) : (
              <EmptyState
                icon={MessageSquareText}
                action={
                  <Link to="/playground" className="button">
                    Open the playground
                  </Link>
                }
              >
                No calls yet. They appear here about a second after they end, by themselves.
              </EmptyState>
            )
          }
        </QueryView>
      </Panel>
    </>
  )
}

/** Why there is nothing to spend: it was spent, or there was no free credit to begin with. */
function WhyEmpty({ freeCredit }: { freeCredit: FreeCreditState | null }) {
  if (freeCredit === 'unverified')
    return <strong>The balance is empty until your address is verified.</strong>
  const why = whyNoFreeCredit(freeCredit)
  if (why === null) return <strong>The balance is used up.</strong>
  return (
    <>
      <strong>This account has no free credit:</strong> {why}
    </>
  )
}

function Balance(props: { session: SessionView; cost: string | undefined; calls: number | undefined }) {
  const { account, balance } = props.session
  return (
    <dl className="figures">
      <div className="figure">
        <dt>Available</dt>
        <dd>
          <Money usd={balance.available_usd} />
        </dd>
        {balance.held_usd !== '0.00' && (
          <dd className="figure-note">
            <Money usd={balance.held_usd} /> held by running calls
          </dd>
        )}
      </div>
      {account.free_credit_usd !== null && (
        <div className="figure">
          <dt>Free credit you started with</dt>
          <dd>
            <Money usd={account.free_credit_usd} />
          </dd>
        </div>
      )}
      <div className="figure">
        <dt>Spent in {DAYS} days</dt>
        <dd>{props.cost === undefined ? '–' : <Money usd={props.cost} />}</dd>
      </div>
      <div className="figure">
        <dt>Calls in {DAYS} days</dt>
        <dd>{props.calls === undefined ? '–' : formatCount(props.calls)}</dd>
      </div>
    </dl>
  )
}

/** The way to a first call; gone once it was walked. */
function FirstSteps({ hasCalls }: { hasCalls: boolean }) {
  const { data: keys } = useQuery(keysQuery)
  if (!keys || hasCalls) return null
  const hasKey = keys.data.length > 0
  return (
    <Panel title="First steps">
      <ol className="steps panel-body">
        <Step done={hasKey}>
          <Link to="/keys">Create an API key.</Link> It is shown once, with a call ready to paste.
        </Step>
        <Step done={false}>
          Make a call: paste that line into a terminal, or use <Link to="/playground">the playground</Link>.
        </Step>
        <Step done={false}>
          See what it cost, <Link to="/usage">to the last digit</Link>.
        </Step>
      </ol>
    </Panel>
  )
}

function Step({ done, children }: { done: boolean; children: ReactNode }) {
  return (
    <li className="step" data-done={done}>
      <span className="step-mark" aria-hidden="true">
        {done && <Check size={14} />}
      </span>
      <span>
        {children}
        {done && <span className="visually-hidden"> Done.</span>}
      </span>
    </li>
  )
}
