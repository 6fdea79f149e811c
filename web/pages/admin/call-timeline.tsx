import type { SettledTimeline, TimelineEvent } from '../../../src/core/api/calls.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { type TimelineSpan, timelineMarks, timelineOf } from '../../lib/call-timeline.ts'
import { formatCount, formatDuration, formatMoment } from '../../lib/format.ts'

/** Share of the width; the label of a later mark would not fit. */
const LAST_MARK = 0.94

/** A call's time drawn to scale: a bar for the queue, each attempt and the settlement. The times are text, too. */
export function TimelineChart({ call }: { call: SettledTimeline }) {
  const { spans, totalMs } = timelineOf(call)
  const share = (milliseconds: number) => `${(milliseconds / totalMs) * 100}%`
  return (
    <div className="stack gap-3">
      <ol className="stack gap-3">
        {spans.map((span) => (
          <li key={`${span.kind} ${span.name}`} className="stack gap-1">
            <p className="timeline-name spread">
              <span className="anywhere">{span.name}</span>
              <SpanTimes span={span} />
            </p>
            <div className="timeline-track" aria-hidden="true">
              <span
                className={`timeline-bar timeline-${span.isFailed ? 'failed' : span.kind}`}
                style={{ left: share(span.startMs), width: share(span.endMs - span.startMs) }}
              />
              {span.firstTokenMs !== null && (
                <span
                  className="timeline-stream"
                  style={{ left: share(span.firstTokenMs), width: share(span.endMs - span.firstTokenMs) }}
                />
              )}
            </div>
          </li>
        ))}
      </ol>
      <div className="timeline-axis caption number" aria-hidden="true">
        {timelineMarks(totalMs * LAST_MARK).map((mark) => (
          <span key={mark} style={{ left: share(mark) }}>
            {formatDuration(mark)}
          </span>
        ))}
      </div>
      <p className="row small" aria-hidden="true">
        <span className="chart-key timeline-key-queue">queue</span>
        <span className="chart-key timeline-key-attempt">waiting for the first token</span>
        <span className="chart-key timeline-key-stream">tokens coming</span>
        <span className="chart-key chart-key-bad">failed</span>
        <span className="chart-key timeline-key-settlement">settlement</span>
      </p>
    </div>
  )
}

function SpanTimes({ span }: { span: TimelineSpan }) {
  const { outcome, isFailed, startMs, endMs, firstTokenMs } = span
  return (
    <span className="soft number">
      {outcome && <span className={isFailed ? 'bad-text' : undefined}>{outcome} · </span>}
      <strong>{formatDuration(endMs - startMs)}</strong>
      {startMs > 0 && <> from {formatDuration(startMs)}</>}
      {firstTokenMs !== null && <>, first token after {formatDuration(firstTokenMs - startMs)}</>}
    </span>
  )
}

/** Every step of a call with its time. */
export function EventTable({ events }: { events: readonly TimelineEvent[] }) {
  return (
    <DataTable
      caption="Steps of the call"
      rows={events.map((event, index) => ({ ...event, index }))}
      rowKey={({ index }) => String(index)}
      columns={{
        After: ({ after_ms: ms }) => `${formatCount(ms)} ms`,
        What: ({ event }) => <span className="anywhere">{event}</span>,
        At: ({ at }) => <span className="nowrap">{formatMoment(at)}</span>,
      }}
      title="What"
      numeric={['After']}
    />
  )
}
