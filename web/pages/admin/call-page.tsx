import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { InFlightTimeline, SettledTimeline } from '../../../src/core/api/calls.ts'
import { timelineQuery } from '../../api/operator-queries.ts'
import { EventTable, TimelineChart } from '../../components/chart/call-timeline.tsx'
import { CallProblemNote } from '../../components/feedback/call-problem-note.tsx'
import { Note, QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { CallStatus, partsOfInput, usageSource } from '../../components/table/call-table.tsx'
import { Identifier } from '../../components/text/copy.tsx'
import { Money } from '../../components/text/money.tsx'
import { Facts, Stats } from '../../components/text/values.tsx'
import { labelTexts } from '../../lib/calls/call-labels.ts'
import { formatCount, formatDuration, formatMoment } from '../../lib/format.ts'
import { unitPriceText, unitTitle } from '../../lib/models/unit-prices.ts'
import { AccountLink, ModelLink } from './links.tsx'

/** One call: its timeline, its usage and its cost; also while it runs. */
export function OperatorCallPage() {
  const { id } = useParams({ from: '/operator/admin/calls/$id' })
  return (
    <>
      <PageHead
        back={<Link to="/admin/calls">← Calls</Link>}
        title="Call"
        description={<Identifier id={id} of="the call ID" />}
      />
      <QueryView query={useQuery(timelineQuery(id))}>
        {(call) => (call.state === 'settled' ? <SettledCall call={call} /> : <InFlightCall call={call} />)}
      </QueryView>
    </>
  )
}

const STATES: Record<InFlightTimeline['state'], string> = {
  queued: 'is waiting for a worker',
  running: 'is still running',
  settling: 'has ended and is being charged',
}

/** A call that is not settled yet; the page polls every second until it is. */
const InFlightCall = ({ call }: { call: InFlightTimeline }) => (
  <>
    <Note announce>This call {STATES[call.state]}. The full timeline appears once it is settled.</Note>
    <Panel title="Call details" padded>
      <Facts
        rows={{
          Account:
            call.account_id === null ? '–' : <AccountLink id={call.account_id} name={call.account_name} />,
          Key: call.key_id !== null && <KeyText call={{ ...call, key_id: call.key_id }} />,
          'Requested model': call.requested_model ?? '–',
          Held: <Money usd={call.held_usd} />,
          'Attempts claimed': formatCount(call.claims),
          'Candidates, in order': call.candidates.length === 0 ? '–' : <Candidates of={call.candidates} />,
        }}
      />
    </Panel>
    <Panel title="Events">
      <EventTable events={call.timeline} />
    </Panel>
  </>
)

/** The key of a call by its name, and the id, which its actions in the audit log name. */
const KeyText = ({ call }: { call: { key_id: string; key_name: string | null } }) => (
  <>
    {call.key_name} <code className="text-sm text-muted">{call.key_id}</code>
  </>
)

const Candidates = ({ of }: { of: InFlightTimeline['candidates'] }) => (
  <ol className="pl-[1.2em]">
    {of.map(({ offer, model }) => (
      <li key={`${offer} ${model}`}>
        <code>{offer}</code> <span className="text-muted">for {model}</span>
      </li>
    ))}
  </ol>
)

/** A settled call: its main values, its timeline to scale, and how its cost came about. */
function SettledCall({ call }: { call: SettledTimeline }) {
  const labels = labelTexts(call.labels)
  return (
    <>
      <CallProblemNote call={call} />
      <Stats
        rows={{
          Status: <CallStatus call={call} />,
          [call.is_byok ? 'Routing fee charged' : 'Charged']: <Money usd={call.charged_usd} />,
          Margin: <Money usd={call.margin_usd} />,
          'Queue time': formatDuration(call.queued_ms),
          'Time to first token': formatDuration(call.first_token_ms),
          Duration: formatDuration(call.duration_ms),
        }}
      />
      <Panel title="Timeline" padded>
        <TimelineChart call={call} />
        <details className="disclosure">
          <summary>All events</summary>
          <EventTable events={call.timeline} />
        </details>
      </Panel>
      <div className="columns">
        <Panel title="Call details" padded>
          <Facts
            rows={{
              Account: <AccountLink id={call.account_id} name={call.account_name} />,
              Key: <KeyText call={call} />,
              Request: <code>{call.request_id}</code>,
              'Prompt log':
                call.prompt_log_until && `kept by the account until ${formatMoment(call.prompt_log_until)}`,
              'Requested model': call.requested_model,
              'Served model':
                call.served_model === null ? 'no provider' : <ModelLink id={call.served_model} />,
              'Served by': call.served_offer === null ? 'no provider' : <code>{call.served_offer}</code>,
              'Chosen by auto':
                call.auto_profile !== null && `score ${call.auto_score}, profile ${call.auto_profile}`,
              Streamed: call.stream ? 'yes' : 'no',
              'Finish reason': call.finish_reason ?? '–',
              "Customer's own key": call.is_byok && 'used: the provider bills the customer',
              'Duplicate of': call.duplicate_of !== null && (
                <>
                  <code>{call.duplicate_of}</code>: not charged, since its Idempotency-Key was already charged
                  with that call
                </>
              ),
              Labels: labels.length > 0 && labels.join(', '),
              Received: formatMoment(call.admitted_at),
            }}
          />
        </Panel>
        <Panel title="Usage and cost" padded>
          <Facts
            rows={{
              'Input tokens': formatCount(call.prompt_tokens),
              ...partsOfInput(call, ({ tokens, rate }) => (
                <>
                  {formatCount(tokens)}
                  <PartRates rate={call[`${rate}_rate`]} cost={call[`${rate}_cost_rate`]} />
                </>
              )),
              'Output tokens': formatCount(call.completion_tokens),
              ...(call.unit !== null && {
                [unitTitle(call.unit)]: (
                  <>
                    {formatCount(call.units)}
                    <UnitRates unit={call.unit} rate={call.units_rate} cost={call.units_cost_rate} />
                  </>
                ),
              }),
              'Counted by':
                (call.usage_clamped || !['upstream', 'none'].includes(call.usage_source)) &&
                `${usageSource(call.usage_source)}${
                  call.usage_clamped ? '; the provider reported an impossible count' : ''
                }`,
              'Input / output rate': <RatePair prompt={call.prompt_rate} completion={call.completion_rate} />,
              'Input / output cost': (
                <RatePair prompt={call.prompt_cost_rate} completion={call.completion_cost_rate} />
              ),
              'Rate version': call.rate_version ? <code>{call.rate_version}</code> : '–',
              Held: <Money usd={call.held_usd} />,
              Charged: <Money usd={call.charged_usd} />,
              'Provider cost': <Money usd={call.cost_usd} />,
              Margin: <Money usd={call.margin_usd} />,
              'Settlement delay': formatDuration(call.settlement_lag_ms),
            }}
          />
        </Panel>
      </div>
    </>
  )
}

/** Nothing where they are priced as the rest of the prompt. */
function PartRates({ rate, cost }: { rate: string | null; cost: string | null }) {
  if (rate === null && cost === null) return null
  return (
    <span className="text-muted">
      {' '}
      at {rate ?? 'the input rate'}, cost {cost ?? 'the input cost'}
    </span>
  )
}

/** Nothing where nothing was delivered. */
function UnitRates({ unit, rate, cost }: { unit: string; rate: string | null; cost: string | null }) {
  if (rate === null || cost === null) return null
  return (
    <span className="text-muted">
      {' '}
      at {unitPriceText(unit, rate)}, cost {unitPriceText(unit, cost)}
    </span>
  )
}

function RatePair({ prompt, completion }: { prompt: string | null; completion: string | null }) {
  if (prompt === null || completion === null) return '–'
  return (
    <>
      {prompt} / {completion} <span className="text-muted">USD per million</span>
    </>
  )
}
