import { ServerOff } from 'lucide-react'
import { useLiveBoard } from '../../api/live-board.tsx'
import { EmptyState, Note, SkeletonLines } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { LiveState } from './live-state.tsx'
import { BreakerPanel } from './overview/breaker-panel.tsx'
import { BusyProviders } from './overview/busy-providers.tsx'
import { LiveTiles } from './overview/live-tiles.tsx'
import { ProcessTable } from './overview/process-table.tsx'
import { QueueTable } from './overview/queue-table.tsx'
import { TrafficPanel } from './overview/traffic-panel.tsx'

/** The state of the whole gateway at this second. */
export function OverviewPage() {
  const { view } = useLiveBoard()
  return (
    <>
      <PageHead
        title="Overview"
        description="The state of the gateway at this second."
        actions={<LiveState />}
      />
      {view?.settlement_behind && (
        <Note tone="warn" announce>
          <strong>Settlement is behind.</strong> Finished calls wait for their charge longer than they should.
          No money is lost: holds stay until they are charged.
        </Note>
      )}
      <LiveTiles />
      <TrafficPanel />
      <BreakerPanel />
      <BusyProviders />
      <Panel title="Processes">
        {view === null ? (
          <SkeletonLines />
        ) : view.processes === null ? (
          <Unknown />
        ) : view.processes.length === 0 ? (
          <EmptyState icon={ServerOff}>
            No process has reported itself. Each reports to Redis every second, so Redis may just have
            started.
          </EmptyState>
        ) : (
          <ProcessTable processes={view.processes} />
        )}
      </Panel>
      <Panel
        title="Queues"
        actions={
          <a href="/admin/queues" className="button button-small">
            Open Bull Board
          </a>
        }
      >
        {view === null ? <SkeletonLines /> : view.queues ? <QueueTable queues={view.queues} /> : <Unknown />}
        <p className="panel-note small muted">
          Bull Board shows each job, read-only. Prompts are encrypted before they are queued and never shown.
        </p>
      </Panel>
    </>
  )
}

const Unknown = () => (
  <div className="panel-body">
    <Note tone="warn">Unknown at the moment: Redis did not respond in time. Calls may fail too.</Note>
  </div>
)
