import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Check, MessageSquareText } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import type { FreeCreditState } from '../../src/core/api/sessions.ts'
import { callsQuery, keysQuery, membersQuery, sessionQuery, usageQuery } from '../api/queries.ts'
import { SpendByDay } from '../components/chart/spend-by-day.tsx'
import { EmptyState, Note, QueryView } from '../components/feedback/messages.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { accountCallRow, CallTable } from '../components/table/call-table.tsx'
import { BudgetBar } from '../components/text/budget-bar.tsx'
import { Money } from '../components/text/money.tsx'
import { Stats } from '../components/text/values.tsx'
import { forecastText } from '../lib/forecast.ts'
import { approximateAmount, daysBetween, daysOf, formatCount, formatMoment, lastDays } from '../lib/format.ts'
import { whyNoFreeCredit } from '../lib/free-credit.ts'

const DAYS = 30
const CALLS_SHOWN = 8

/** The start page of an account: its balance, the next steps and the latest calls. */
export function DashboardPage() {
  const { data: session } = useQuery(sessionQuery)
  const span = useMemo(() => lastDays(DAYS, new Date()), [])
  const usage = useQuery(usageQuery(span, 'day'))
  const calls = useQuery(callsQuery({}, CALLS_SHOWN))
  const members = useQuery({ ...membersQuery, enabled: session?.account.is_organisation ?? false })
  if (!session) return null
  const { account, balance, permissions } = session
  const own = account.is_organisation ? members.data?.data.find(({ is_you: isYou }) => isYou) : undefined
  const budget = own?.monthly_budget_usd == null ? null : own
  const [mayCall, mayPay] = [permissions.includes('keys'), permissions.includes('billing')]
  const latest = calls.data?.data
  const known = new Map(usage.data?.data.map((row) => [row.day, row]))
  const { first, last } = daysOf(span)
  const spend = daysBetween(first, last).map((day) => known.get(day) ?? { cost_usd: '0', calls: 0 })
  return (
    <>
      <PageHead
        title="Dashboard"
        actions={
          <>
            {mayCall && (
              <Link to="/playground" className="button">
                Playground
              </Link>
            )}
            {mayPay && (
              <Link to="/billing" className={latest?.length === 0 ? 'button' : 'button button-primary'}>
                Top up
              </Link>
            )}
            {mayCall && latest?.length === 0 && (
              <Link to="/keys" search={{ new: '1' }} className="button button-primary">
                Create API key
              </Link>
            )}
          </>
        }
      />
      <Stats
        rows={{
          Available: <Money usd={balance.available_usd} />,
          ...(budget && { 'Your budget left': <Money usd={budget.remaining_usd} /> }),
          [`Spent in ${DAYS} days`]: <Money usd={usage.data?.total.cost_usd} />,
          [`Calls in ${DAYS} days`]: usage.data ? formatCount(usage.data.total.calls) : '–',
        }}
        trends={{
          [`Spent in ${DAYS} days`]: spend.map(({ cost_usd: usd }) => approximateAmount(usd)),
          [`Calls in ${DAYS} days`]: spend.map(({ calls: count }) => count),
        }}
        notes={{
          'Your budget left': budget?.monthly_budget_usd && (
            <span className="stack gap-1">
              <span>
                <Money usd={budget.spent_usd} /> of <Money usd={budget.monthly_budget_usd} /> spent; resets{' '}
                {formatMoment(members.data!.budgets_reset_at)}
              </span>
              <BudgetBar spent={budget.spent_usd} limit={budget.monthly_budget_usd} />
            </span>
          ),
          Available:
            balance.held_usd === '0.00' ? (
              forecastText(balance.available_usd, usage.data?.data ?? [], new Date())
            ) : (
              <>
                <Money usd={balance.held_usd} /> held by running calls
              </>
            ),
        }}
      />
      {account.state === 'exhausted' && (
        <Note tone="warn">
          <WhyEmpty freeCredit={account.free_credit} hasCalls={latest?.length !== 0} /> Calls are refused
          until{' '}
          {mayPay ? (
            <>
              you <Link to="/billing">top up</Link>
            </>
          ) : (
            'an owner tops it up'
          )}
          .
        </Note>
      )}
      {mayCall && latest?.length === 0 && (
        <FirstSteps mayUse={account.state !== 'exhausted'} mayPay={mayPay} />
      )}
      {latest?.length === 0 ? null : (
        <Panel title={`Spend, last ${DAYS} days`} actions={<Link to="/usage">View all usage</Link>} padded>
          <QueryView query={usage} loading={<span className="skeleton h-56" />}>
            {({ data }) => (
              <SpendByDay {...daysOf(span)} spend={data.map(({ day = '', ...row }) => ({ day, ...row }))} />
            )}
          </QueryView>
        </Panel>
      )}
      <Panel title="Latest calls">
        <QueryView query={calls}>
          {() =>
            latest && latest.length > 0 ? (
              <CallTable rows={latest.map((call) => accountCallRow(call))} />
            ) : (
              <EmptyState
                icon={MessageSquareText}
                action={
                  <Link to="/playground" className="button">
                    Open the playground
                  </Link>
                }
              >
                No calls yet. A call appears here about a second after it ends.
              </EmptyState>
            )
          }
        </QueryView>
      </Panel>
    </>
  )
}

/** Why the balance is empty: it was spent, or the account never had free credit. */
function WhyEmpty({ freeCredit, hasCalls }: { freeCredit: FreeCreditState | null; hasCalls: boolean }) {
  if (freeCredit === 'unverified')
    return <strong>Your balance is empty until you verify your email address.</strong>
  const why = whyNoFreeCredit(freeCredit)
  if (why === null) return <strong>{hasCalls ? 'Your balance is used up.' : 'Add credit to start.'}</strong>
  return (
    <>
      <strong>This account has no free credit:</strong> {why}
    </>
  )
}

/** The steps to a first call, with those that are done. */
function FirstSteps({ mayUse, mayPay }: { mayUse: boolean; mayPay: boolean }) {
  const { data: keys } = useQuery(keysQuery)
  if (!keys) return null
  const hasKey = keys.data.length > 0
  const done = [mayUse, hasKey].filter(Boolean).length
  return (
    <Panel title="First steps" actions={<span className="text-sm text-muted">{done} of 4 done</span>}>
      <ol className="stack px-inset py-4">
        <Step number={1} done={mayUse}>
          {mayUse && 'Your balance pays for calls.'}
          {!mayUse && !mayPay && 'Ask an owner to add credit.'}
          {!mayUse && mayPay && (
            <>
              Add credit: verify your email address for the free credit, or <Link to="/billing">top up</Link>.
            </>
          )}
        </Step>
        <Step number={2} done={hasKey}>
          <Link to="/keys" search={{ new: '1' }}>
            Create an API key.
          </Link>{' '}
          It is shown once, with an example call that you can run there.
        </Step>
        <Step number={3}>
          Make a call: run the example, or use <Link to="/playground">the playground</Link>.
        </Step>
        <Step number={4}>
          See its exact cost under <Link to="/usage">Usage</Link>.
        </Step>
      </ol>
    </Panel>
  )
}

const Step = ({ number, done, children }: { number: number; done?: boolean; children: ReactNode }) => (
  <li className={`flex gap-3 ${done ? 'text-muted' : ''}`}>
    <span
      className={`grid size-6.5 flex-none place-items-center rounded-full text-sm ${done ? 'bg-good-soft text-good' : 'border border-line-strong'}`}
      aria-hidden="true"
    >
      {done ? <Check size={14} /> : number}
    </span>
    <span>
      {children}
      {done && <span className="sr-only"> Done.</span>}
    </span>
  </li>
)
