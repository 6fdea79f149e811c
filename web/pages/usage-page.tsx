import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { sessionQuery, usageSeriesCsvPath, usageSeriesQuery } from '../api/queries.ts'
import { QueryView } from '../components/feedback/messages.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { Money } from '../components/text/money.tsx'
import { Stats } from '../components/text/values.tsx'
import { approximateAmount, formatCount, formatDuration } from '../lib/format.ts'
import { useShownZone, zoneName } from '../lib/time-zone.ts'
import { usageNotes } from '../lib/usage-changes.ts'
import { periodOf, periodWith, readUsageChoice, seriesQuery } from '../lib/usage-view.ts'
import { RecentSessions, RefusedRequests } from './usage/beside-requests.tsx'
import { RequestLog } from './usage/request-log.tsx'
import { GROUP_NAMES, groupFilter, UsageBreakdown } from './usage/usage-breakdown.tsx'
import { UsageCharts } from './usage/usage-charts.tsx'
import { UsageToolbar } from './usage/usage-toolbar.tsx'

/** Usage and cost over time, by model, key or member, and request by request. */
export function UsagePage() {
  const search = useSearch({ from: '/account/usage' })
  const navigate = useNavigate({ from: '/usage' })
  const now = useMemo(() => new Date(), [])
  const choice = readUsageChoice(search, useShownZone(), now)
  const query = seriesQuery(choice)
  const usage = useQuery({ ...usageSeriesQuery(query), placeholderData: (before) => before })
  const set = (changed: Partial<typeof search>) =>
    // Each page of the log is a step back in the browser's history.
    void navigate({
      search: (before) => ({ ...before, ...changed }),
      replace: changed.cursor === undefined,
      resetScroll: false,
    })
  // Of another period or zone, the pages are others.
  const setPeriod = (changed: Partial<typeof search>) => set({ cursor: undefined, at: undefined, ...changed })
  const { q, model, key_id, member_id, status, sort, order, at, cursor } = search
  const account = useQuery(sessionQuery).data?.account
  const ofOrganisation = account?.is_organisation ?? false
  return (
    <>
      <PageHead
        title="Usage"
        description={`Exact amounts, as charged. Times in ${zoneName(choice.zone, now)}.`}
        actions={
          <a className="button" href={usageSeriesCsvPath(query)} download>
            Export usage
          </a>
        }
      />
      <UsageToolbar choice={choice} hasMembers={ofOrganisation} onChange={setPeriod} />
      <QueryView query={usage}>
        {({ total, total_before: before, buckets }) => (
          <Stats
            stale={usage.isPlaceholderData}
            rows={{
              Cost: <Money usd={total.cost_usd} />,
              Requests: formatCount(total.calls),
              'Input tokens': formatCount(total.prompt_tokens),
              'Output tokens': formatCount(total.completion_tokens),
              'Time to first token': formatDuration(total.first_token_ms),
            }}
            notes={usageNotes(total, before)}
            trends={{
              Cost: buckets.map(({ cost_usd: usd }) => approximateAmount(usd)),
              Requests: buckets.map(({ calls }) => calls),
              'Input tokens': buckets.map(({ prompt_tokens: tokens }) => tokens),
              'Output tokens': buckets.map(({ completion_tokens: tokens }) => tokens),
              'Time to first token': buckets.map(({ first_token_ms: ms }) => ms),
            }}
          />
        )}
      </QueryView>
      <Panel title={`By ${choice.interval}`} padded>
        <QueryView query={usage} loading={<span className="skeleton h-112" />}>
          {(view) => (
            <UsageCharts
              view={view}
              stale={usage.isPlaceholderData}
              onPick={(at, of) =>
                setPeriod({
                  ...periodOf(at, view.interval, choice.zone),
                  ...(of === 'failures' && { status: 'failed' }),
                })
              }
              onGroup={(group) => set({ cursor: undefined, ...groupFilter(view.group_by, group) })}
            />
          )}
        </QueryView>
      </Panel>
      <Panel title={`By ${GROUP_NAMES[choice.group]}`}>
        <QueryView query={usage}>{(view) => <UsageBreakdown view={view} />}</QueryView>
      </Panel>
      <RefusedRequests
        period={{ from: query.from, to: query.to, time_zone: choice.zone }}
        onPick={(at, interval) => setPeriod({ ...periodOf(at, interval, choice.zone) })}
      />
      <RecentSessions zone={choice.zone} />
      <RequestLog
        filters={{
          ...{ from: query.from, to: query.to, time_zone: choice.zone },
          ...{ q, model, key_id, member_id, status },
        }}
        place={{ sort, order, at, cursor }}
        hasMembers={ofOrganisation}
        models={choice.group === 'model' ? (usage.data?.groups.map(({ group }) => group) ?? []) : []}
        zone={choice.zone}
        onChange={(changed) =>
          set({ ...(changed.at && periodWith(choice, changed.at.slice(0, 10))), ...changed })
        }
      />
    </>
  )
}
