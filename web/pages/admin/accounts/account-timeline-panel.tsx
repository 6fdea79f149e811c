import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Bell, CircleX, Coins, type LucideIcon, Mail, PencilLine } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import type { OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import {
  accountFailuresQuery,
  accountLedgerQuery,
  accountMailsQuery,
  alarmsQuery,
} from '../../../api/operator-queries.ts'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { Money } from '../../../components/text/money.tsx'
import { Moment } from '../../../components/text/values.tsx'
import { actionText, actorText } from '../../../lib/action-words.ts'
import { errorReason } from '../../../lib/error-reasons.ts'
import { lastDays, plural } from '../../../lib/format.ts'
import { accountTimeline, type TimelineEntry } from '../../../lib/operators/account-timeline.ts'
import { LEDGER_KIND_NAMES } from './account-ledger.tsx'
import { mailName } from './account-story.tsx'

/** What happened to an account in the last 30 days, whatever it was, newest first. */
export function AccountTimelinePanel({ account }: { account: OperatorAccountDetail }) {
  const { id, actions } = account
  const { from } = useMemo(() => lastDays(30, new Date()), [])
  const failures = useQuery(accountFailuresQuery(id, from))
  const money = useInfiniteQuery(accountLedgerQuery(id, { calls: 'by_day' }))
  const mails = useInfiniteQuery(accountMailsQuery(id))
  const alarms = useInfiniteQuery(alarmsQuery('all', id))
  const newest = <T,>(data: { pages: ReadonlyArray<{ data: T[]; has_more: boolean }> } | undefined) => ({
    rows: data?.pages.flatMap((page) => page.data) ?? [],
    hasOlder: data?.pages.at(-1)?.has_more ?? false,
  })
  const entries = accountTimeline({
    from,
    failures: newest(failures.data && { pages: [failures.data] }),
    money: newest(money.data),
    mails: newest(mails.data),
    changes: actions,
    alarms: newest(alarms.data).rows,
  })
  return (
    <Panel title="Last 30 days" padded>
      <QueryView query={money}>
        {() =>
          entries.length === 0 ? (
            <p className="text-muted">Nothing happened.</p>
          ) : (
            <ol className="stack gap-3">
              {entries.map((entry) => (
                <Entry key={`${entry.kind} ${entry.key}`} entry={entry} />
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}

const ICONS: Record<TimelineEntry['kind'], LucideIcon> = {
  call: CircleX,
  money: Coins,
  mail: Mail,
  change: PencilLine,
  alarm: Bell,
}

function Entry({ entry }: { entry: TimelineEntry }) {
  const Icon = ICONS[entry.kind]
  return (
    <li className="flex gap-3">
      <Icon className="mt-[0.2em] flex-none text-muted" size={16} aria-hidden="true" />
      <p className="min-w-0 flex-1 wrap-anywhere">{textOf(entry)}</p>
      <span className="flex-none text-sm text-muted">
        <Moment at={entry.at} isShort />
      </span>
    </li>
  )
}

function textOf(entry: TimelineEntry): ReactNode {
  switch (entry.kind) {
    case 'call':
      return (
        <>
          <Link to="/admin/calls/$id" params={{ id: entry.call.id }}>
            Call of {entry.call.requested_model}
          </Link>{' '}
          failed: {errorReason(entry.call.error_code ?? 'internal_error')}
        </>
      )
    case 'money': {
      const { kind, calls, amount_usd: usd, reason } = entry.row
      return (
        <>
          {calls === null ? LEDGER_KIND_NAMES[kind] : plural(calls, 'charged call')}{' '}
          <Money usd={usd} signed />
          {reason !== null && <span className="text-muted"> · {reason}</span>}
        </>
      )
    }
    case 'mail':
      return (
        <>
          Message “{mailName(entry.mail.kind)}” to {entry.mail.recipient}
          {entry.mail.outcome !== 'sent' && <span className="text-bad"> · not delivered</span>}
        </>
      )
    case 'change':
      return (
        <>
          {actionText(entry.action.action)}
          {entry.action.outcome === 'failed' && <span className="text-bad"> · failed</span>}
          <span className="text-muted"> · {actorText(entry.action).who}</span>
        </>
      )
    case 'alarm':
      return (
        <>
          Alarm: {entry.alarm.summary}
          {entry.alarm.resolved_at === null && <span className="text-muted"> · open</span>}
        </>
      )
    default:
      return entry satisfies never
  }
}
