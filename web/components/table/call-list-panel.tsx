import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useRef } from 'react'
import type { CallPage } from '../../../src/core/api/calls.ts'
import type { readOf } from '../../api/read.ts'
import { formatMoment, plural } from '../../lib/format.ts'
import { Empty, QueryView } from '../feedback/messages.tsx'
import { Panel } from '../layout/page.tsx'
import { PageNav } from './page-nav.tsx'

/** A panel with one page of a list of calls, and the ways to the pages before and after. */
export function CallListPanel<T>(props: {
  title: string
  /** What readers call a row. */
  noun: 'request' | 'call'
  actions?: ReactNode
  filters?: ReactNode
  query: ReturnType<typeof readOf<CallPage<T>>>
  /** Sorted by time; else by a figure. */
  isByTime: boolean
  /** The time zone of the times; absent: the one chosen in this browser. */
  zone?: string
  /** Shown while the list has no rows. */
  empty: ReactNode
  /** Absent: only the first page is shown. */
  onCursor?: (cursor: string) => void
  children: (rows: T[]) => ReactNode
}) {
  const { title, noun, actions, filters, isByTime, zone, empty, onCursor, children } = props
  const top = useRef<HTMLDivElement>(null)
  const query = useQuery({ ...props.query, placeholderData: (before) => before })
  const go = (cursor: string | null) =>
    cursor === null || !onCursor
      ? null
      : () => {
          onCursor(cursor)
          top.current?.scrollIntoView({ block: 'start' })
        }
  return (
    <div ref={top} className="scroll-mt-20">
      <Panel title={title} actions={actions}>
        {filters}
        <QueryView query={query}>
          {({ data, previous_cursor: previous, next_cursor: next, searched_to: searchedTo }) => (
            <div
              className={query.isPlaceholderData ? 'opacity-60' : undefined}
              aria-busy={query.isPlaceholderData}
            >
              {data.length > 0 && children(data)}
              {data.length === 0 && !(isByTime && searchedTo !== null) && <Empty>{empty}</Empty>}
              {searchedTo !== null && (
                <p className="panel-body text-sm text-muted" role="status">
                  {isByTime
                    ? `Searched 50,000 ${noun}s, to ${formatMoment(searchedTo, zone)}: ${plural(data.length, 'match', 'matches')}. The next page searches on from there.`
                    : `Sorting covers the latest 50,000 ${noun}s, since ${formatMoment(searchedTo, zone)}.`}
                </p>
              )}
              {onCursor && (previous !== null || next !== null) && (
                <PageNav of={`${noun}s`} onPrevious={go(previous)} onNext={go(next)}>
                  {plural(data.length, noun)}
                </PageNav>
              )}
            </div>
          )}
        </QueryView>
      </Panel>
    </div>
  )
}
