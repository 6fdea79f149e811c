import type { TimelineEvent } from '../../../src/core/api/calls.ts'
import {
  type DrawnTimeline,
  type TimedCall,
  type TimelineSpan,
  timelineOf,
} from '../../lib/calls/call-timeline.ts'
import { axisMarks } from '../../lib/chart-scale.ts'
import { formatCount, formatDuration } from '../../lib/format.ts'
import { DataTable } from '../table/data-table.tsx'
import { Moment } from '../text/values.tsx'
import { ChartKey } from './chart-figure.tsx'

const COLOURS: Record<TimelineSpan['kind'], string> = {
  queue: 'bg-line-strong',
  attempt: 'bg-accent-line',
  gap: 'bg-warn',
  settlement: 'bg-focus',
}

/** Share of the width; the label of a later mark would not fit. */
const LAST_MARK = 0.94

/** A call's time drawn to scale: a bar for the queue, each attempt and the settlement. */
export const TimelineChart = ({ call }: { call: TimedCall }) => <Waterfall {...timelineOf(call)} />

/** Spans of time drawn to scale, one below the other. The times are text, too. */
export function Waterfall({ spans, totalMs }: DrawnTimeline) {
  const has = (kind: TimelineSpan['kind']) => spans.some((span) => span.kind === kind)
  const share = (milliseconds: number) => `${(milliseconds / totalMs) * 100}%`
  return (
    <div className="stack gap-3">
      <ol className="stack gap-3">
        {spans.map((span) => (
          <li key={`${span.name} ${span.startMs}`} className="stack gap-1">
            <p className="spread items-baseline gap-y-0 text-base">
              <span className="wrap-anywhere">{span.name}</span>
              <SpanTimes span={span} />
            </p>
            <div className="relative h-3.5 overflow-hidden rounded-sm bg-sunken" aria-hidden="true">
              <span
                className={`absolute inset-y-0 min-w-[3px] ${span.isFailed ? 'bg-bad-fill' : COLOURS[span.kind]}`}
                style={{ left: share(span.startMs), width: share(span.endMs - span.startMs) }}
              />
              {span.firstTokenMs !== null && (
                <span
                  className="absolute inset-y-0 min-w-[3px] bg-good"
                  style={{ left: share(span.firstTokenMs), width: share(span.endMs - span.firstTokenMs) }}
                />
              )}
            </div>
          </li>
        ))}
      </ol>
      <div className="relative h-6 border-t border-line text-xs text-muted tabular-nums" aria-hidden="true">
        {axisMarks(totalMs * LAST_MARK, true)
          .filter((mark) => mark <= totalMs * LAST_MARK)
          .map((mark) => (
            <span
              key={mark}
              className="absolute border-l border-line-strong pl-[3px] whitespace-nowrap"
              style={{ left: share(mark) }}
            >
              {formatDuration(mark)}
            </span>
          ))}
      </div>
      <p className="row text-sm" aria-hidden="true">
        {has('queue') && <ChartKey colour={COLOURS.queue}>queue</ChartKey>}
        <ChartKey colour={COLOURS.attempt}>time to first token</ChartKey>
        <ChartKey colour="bg-good">streaming</ChartKey>
        <ChartKey colour="bg-bad-fill">failed</ChartKey>
        {has('gap') && <ChartKey colour={COLOURS.gap}>no attempt</ChartKey>}
        {has('settlement') && <ChartKey colour={COLOURS.settlement}>settlement</ChartKey>}
      </p>
    </div>
  )
}

function SpanTimes({ span }: { span: TimelineSpan }) {
  const { outcome, isFailed, startMs, endMs, firstTokenMs } = span
  return (
    <span className="text-soft tabular-nums">
      {outcome && <span className={isFailed ? 'font-medium text-bad' : undefined}>{outcome} · </span>}
      <strong>{formatDuration(endMs - startMs)}</strong>
      {startMs > 0 && <> from {formatDuration(startMs)}</>}
      {firstTokenMs !== null && <>, first token after {formatDuration(firstTokenMs - startMs)}</>}
    </span>
  )
}

/** Every step of a call with its time. */
export const EventTable = ({ events }: { events: readonly TimelineEvent[] }) => (
  <DataTable
    caption="Events of the call"
    rows={events.map((event, index) => ({ ...event, index }))}
    rowKey={({ index }) => String(index)}
    columns={{
      Elapsed: ({ after_ms: ms }) => `${formatCount(ms)} ms`,
      Event: ({ event }) => <span className="wrap-anywhere">{event}</span>,
      Time: ({ at }) => <Moment at={at} />,
    }}
    title="Event"
    numeric={['Elapsed']}
  />
)
