import { ServerOff } from 'lucide-react'
import { useLiveBoard } from '../../api/live-board.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { SkeletonLines } from '../../components/loading.tsx'
import { Note } from '../../components/note.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { Panel } from '../../components/panel.tsx'
import { LiveState } from './live-state.tsx'
import { BreakerPanel } from './overview/breaker-panel.tsx'
import { BusyProviders } from './overview/busy-providers.tsx'
import { LiveTiles } from './overview/live-tiles.tsx'
import { ProcessTable } from './overview/process-table.tsx'
import { QueueTable } from './overview/queue-table.tsx'
import { TrafficPanel } from './overview/traffic-panel.tsx'

/** What an operator looks at first: how the whole gateway is at this second. */
export function OverviewPage() {
  const { view } = useLiveBoard()
  return (
    <>
      <PageHead title="Overview" description="How the gateway is at this second." actions={<LiveState />} />
      {view?.settlement_behind && (
        <Note tone="warn" announce>
          <strong>Settlement is behind.</strong> Finished calls wait for their charge longer than they should.
          No money is lost: holds stay until then.
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
            No process reports itself. Each does so in Redis every second, so Redis may just have started.
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
        <p className="panel-note">
          Bull Board shows each job, read-only. What clients wrote is sealed before it is queued and is never
          shown.
        </p>
      </Panel>
    </>
  )
}

const Unknown = () => (
  <div className="panel-body">
    <Note tone="warn">Not known at the moment: Redis did not answer in time. Calls may fail too.</Note>
  </div>
)
