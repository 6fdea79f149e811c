import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Pause, Pencil, Play, RotateCw, ScrollText } from 'lucide-react'
import { useMemo } from 'react'
import type { KeyView } from '../../src/core/api/keys.ts'
import { callsQuery, keyQuery, sessionQuery, usageSeriesQuery } from '../api/queries.ts'
import { path, requestJson } from '../api/request.ts'
import { Note, QueryView } from '../components/feedback/messages.tsx'
import { ActionButton } from '../components/form/action-button.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { CallListPanel } from '../components/table/call-list-panel.tsx'
import { accountCallRow, CallTable } from '../components/table/call-table.tsx'
import { AgentSetups, Snippets } from '../components/text/snippets.tsx'
import { formatMoment } from '../lib/format.ts'
import { useShownZone, zoneOffset } from '../lib/time-zone.ts'
import { periodOf, readUsageChoice, seriesQuery } from '../lib/usage-view.ts'
import { LogPromptsDialog, StopLoggingDialog } from './keys/kept-texts-dialogs.tsx'
import { EditKeyDialog, RevokeKeyDialog, RotateSecretDialog } from './keys/key-dialogs.tsx'
import { KeyFacts, KeyStats } from './keys/key-facts.tsx'
import { KeyState, PromptsLogged } from './keys/key-table.tsx'
import { UsageBreakdown } from './usage/usage-breakdown.tsx'
import { UsageCharts } from './usage/usage-charts.tsx'
import { UsageToolbar } from './usage/usage-toolbar.tsx'

/** One key: what it may do and did, and every change of it. */
export function KeyPage() {
  const { id } = useParams({ from: '/account/keys/$id' })
  const query = useQuery(keyQuery(id))
  const key = query.data
  return (
    <>
      <PageHead
        back={<Link to="/keys">← API keys</Link>}
        title={key?.name || key?.hint || 'API key'}
        description={
          key && (
            <span className="row">
              <code>{key.hint}</code>
              <KeyState apiKey={key} />
              {key.prompt_log_days !== null && <PromptsLogged />}
            </span>
          )
        }
        actions={key && key.state !== 'revoked' && <KeyActions apiKey={key} />}
      />
      <QueryView query={query}>
        {(found) => (
          <>
            {!found.has_secret && found.state !== 'revoked' && (
              <Note tone="warn">
                This key was taken over from a member who left. Create a new secret before you use it.
              </Note>
            )}
            {found.previous_secret_until && (
              <Note>
                The secret before the present one works until {formatMoment(found.previous_secret_until)}.
              </Note>
            )}
            <KeyStats apiKey={found} />
            <div className="columns">
              <KeyFacts apiKey={found} />
              <Panel title="Use this key" padded>
                <Snippets apiKey={found.hint} />
                <h3 className="mt-4">Use it with</h3>
                <AgentSetups apiKey={found.hint} />
              </Panel>
            </div>
            <KeyUsage keyId={id} />
          </>
        )}
      </QueryView>
    </>
  )
}

function KeyActions({ apiKey }: { apiKey: KeyView }) {
  const isPaused = apiKey.paused_at !== null
  const permissions = useQuery(sessionQuery).data?.permissions ?? []
  // A key that a manager or an operator paused can be resumed by them only.
  const isPausedAbove =
    apiKey.paused_by === 'operator' || (apiKey.paused_by === 'manager' && !permissions.includes('all_keys'))
  const isLogging = apiKey.prompt_log_days !== null
  const Icon = isPaused ? Play : Pause
  const Logging = isLogging ? StopLoggingDialog : LogPromptsDialog
  return (
    <>
      <Button icon={Pencil} dialog={(close) => <EditKeyDialog apiKey={apiKey} onClose={close} />}>
        Edit
      </Button>
      <ActionButton
        icon={Icon}
        disabled={isPausedAbove}
        action={{
          send: () =>
            requestJson('POST', path`/console/api/keys/${apiKey.id}/${isPaused ? 'resume' : 'pause'}`),
          stale: ['/console/api/keys'],
          done: isPaused
            ? 'API key resumed. It works again.'
            : 'API key paused. Requests with it are rejected until you resume it.',
        }}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </ActionButton>
      <Button icon={ScrollText} dialog={(close) => <Logging apiKey={apiKey} onClose={close} />}>
        {isLogging ? 'Stop logging' : 'Log prompts'}
      </Button>
      <Button icon={RotateCw} dialog={(close) => <RotateSecretDialog apiKey={apiKey} onClose={close} />}>
        New secret
      </Button>
      <Button dialog={(close) => <RevokeKeyDialog apiKey={apiKey} onClose={close} />}>Revoke</Button>
    </>
  )
}

const LATEST = 10

/** What the key's requests used and cost over time, by model, and the latest of them. */
function KeyUsage({ keyId }: { keyId: string }) {
  const search = useSearch({ from: '/account/keys/$id' })
  const navigate = useNavigate({ from: '/keys/$id' })
  const now = useMemo(() => new Date(), [])
  const choice = readUsageChoice(search, useShownZone(), now)
  const period = seriesQuery(choice)
  const usage = useQuery({
    ...usageSeriesQuery({ ...period, key_id: keyId }),
    placeholderData: (before) => before,
  })
  const set = (changed: Partial<typeof search>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false })
  return (
    <>
      <h2>Usage</h2>
      <UsageToolbar ofOneKey choice={choice} onChange={set} />
      <Panel title={`By ${choice.interval}, ${zoneOffset(choice.zone, now)}`} padded>
        <QueryView query={usage} loading={<span className="skeleton h-112" />}>
          {(view) => (
            <UsageCharts
              view={view}
              stale={usage.isPlaceholderData}
              onPick={(at) => set({ ...periodOf(at, view.interval, choice.zone) })}
            />
          )}
        </QueryView>
      </Panel>
      <Panel title="By model">
        <QueryView query={usage}>{(view) => <UsageBreakdown view={view} keyId={keyId} />}</QueryView>
      </Panel>
      <CallListPanel
        noun="request"
        title="Latest requests"
        actions={
          <Link to="/usage" search={{ key_id: keyId }} hash="requests" className="button button-small">
            All requests
          </Link>
        }
        query={callsQuery(
          { from: period.from, to: period.to, time_zone: choice.zone, key_id: keyId },
          LATEST,
        )}
        empty="No requests with this key in this period."
        isByTime
      >
        {(calls) => <CallTable rows={calls.map((call) => accountCallRow(call))} zone={choice.zone} />}
      </CallListPanel>
    </>
  )
}
