import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { SettledTimeline } from '../../../../src/core/api/calls.ts'
import { CallStatus } from '../../../components/call-table.tsx'
import { Money } from '../../../components/money.tsx'
import { Panel } from '../../../components/panel.tsx'
import { formatMoment } from '../../../lib/dates.ts'
import { formatCount, formatDuration } from '../../../lib/figures.ts'
import { EventTable } from './event-table.tsx'
import { TimelineChart } from './timeline-chart.tsx'

/** A settled call: its figures, its timeline to scale, and why it cost what it cost. */
export function SettledCall({ call }: { call: SettledTimeline }) {
  return (
    <>
      <dl className="figures">
        <Figure name="Status">
          <CallStatus call={call} />
        </Figure>
        <Figure name={call.is_byok ? 'Routing fee charged' : 'Charged'}>
          <Money usd={call.charged_usd} />
        </Figure>
        <Figure name="Our margin">
          <Money usd={call.margin_usd} />
        </Figure>
        <Figure name="In the queue">{duration(call.queued_ms)}</Figure>
        <Figure name="First token">{duration(call.first_token_ms)}</Figure>
        <Figure name="Whole call">{formatDuration(call.duration_ms)}</Figure>
      </dl>
      <Panel title="Timeline">
        <div className="panel-body">
          <TimelineChart call={call} />
          <details className="disclosure">
            <summary>Every step with its time</summary>
            <EventTable events={call.timeline} />
          </details>
        </div>
      </Panel>
      <div className="grid-2">
        <Panel title="What it was">
          <div className="panel-body">
            <WhatItWas call={call} />
          </div>
        </Panel>
        <Panel title="Tokens and money">
          <div className="panel-body">
            <TokensAndMoney call={call} />
          </div>
        </Panel>
      </div>
    </>
  )
}

function WhatItWas({ call }: { call: SettledTimeline }) {
  return (
    <dl className="facts">
      <dt>Account</dt>
      <dd>
        <Link to="/admin/accounts/$id" params={{ id: call.account_id }}>
          {call.account_id}
        </Link>
      </dd>
      <dt>Key</dt>
      <dd>
        <code>{call.key_id}</code>
      </dd>
      <dt>Request</dt>
      <dd>
        <code>{call.request_id}</code>
      </dd>
      <dt>Model asked for</dt>
      <dd>{call.requested_model}</dd>
      <dt>Model that served</dt>
      <dd>
        {call.served_model === null ? (
          'none'
        ) : (
          <Link to="/admin/models/$" params={{ _splat: call.served_model }}>
            {call.served_model}
          </Link>
        )}
      </dd>
      <dt>Offer that served</dt>
      <dd>{call.served_offer === null ? 'none' : <code>{call.served_offer}</code>}</dd>
      {call.auto_tier !== null && (
        <>
          <dt>Chosen by auto</dt>
          <dd>
            tier {call.auto_tier}, score {call.auto_score}, profile {call.auto_profile}
          </dd>
        </>
      )}
      <dt>Streamed</dt>
      <dd>{call.stream ? 'yes' : 'no'}</dd>
      <dt>Finish reason</dt>
      <dd>{call.finish_reason ?? '–'}</dd>
      <dt>Client’s own key</dt>
      <dd>{call.is_byok ? 'yes: the provider bills the client' : 'no'}</dd>
      {call.duplicate_of !== null && (
        <>
          <dt>Duplicate of</dt>
          <dd>
            <code>{call.duplicate_of}</code>: charged nothing, since its Idempotency-Key was charged for that
          </dd>
        </>
      )}
      <dt>Admitted</dt>
      <dd>{formatMoment(call.admitted_at)}</dd>
    </dl>
  )
}

function TokensAndMoney({ call }: { call: SettledTimeline }) {
  return (
    <dl className="facts">
      <dt>Tokens in</dt>
      <dd className="number">{formatCount(call.prompt_tokens)}</dd>
      {call.audio_tokens > 0 && (
        <>
          <dt>Of them audio</dt>
          <dd className="number">
            {formatCount(call.audio_tokens)}
            <MediaRates rate={call.prompt_audio_rate} cost={call.prompt_audio_cost_rate} />
          </dd>
        </>
      )}
      {call.image_tokens > 0 && (
        <>
          <dt>Of them images</dt>
          <dd className="number">
            {formatCount(call.image_tokens)}
            <MediaRates rate={call.prompt_image_rate} cost={call.prompt_image_cost_rate} />
          </dd>
        </>
      )}
      <dt>Tokens out</dt>
      <dd className="number">{formatCount(call.completion_tokens)}</dd>
      <dt>Counted by</dt>
      <dd>
        {SOURCES[call.usage_source] ?? call.usage_source}
        {call.usage_clamped && '; what the provider reported cannot be'}
      </dd>
      <dt>Rates in / out</dt>
      <dd className="number">
        <RatePair prompt={call.prompt_rate} completion={call.completion_rate} />
      </dd>
      <dt>Costs in / out</dt>
      <dd className="number">
        <RatePair prompt={call.prompt_cost_rate} completion={call.completion_cost_rate} />
      </dd>
      <dt>Rate version</dt>
      <dd>{call.rate_version ? <code>{call.rate_version}</code> : '–'}</dd>
      <dt>Held</dt>
      <dd>
        <Money usd={call.held_usd} />
      </dd>
      <dt>Charged</dt>
      <dd>
        <Money usd={call.charged_usd} />
      </dd>
      <dt>Cost to us</dt>
      <dd>
        <Money usd={call.cost_usd} />
      </dd>
      <dt>Margin</dt>
      <dd>
        <Money usd={call.margin_usd} />
      </dd>
      <dt>Charged after its end</dt>
      <dd>{formatDuration(call.settlement_lag_ms)}</dd>
    </dl>
  )
}

const SOURCES: Record<string, string> = {
  upstream: 'the provider',
  counted: 'us, from what was produced',
  estimated: 'us, partly by how long the model reasoned out of sight',
  none: 'nobody: nothing was delivered',
}

/** Nothing where they are priced as the rest of the prompt. */
function MediaRates({ rate, cost }: { rate: string | null; cost: string | null }) {
  if (rate === null && cost === null) return null
  return (
    <span className="muted">
      {' '}
      at {rate ?? 'the rate in'}, cost {cost ?? 'as the cost in'}
    </span>
  )
}

function RatePair({ prompt, completion }: { prompt: string | null; completion: string | null }) {
  if (prompt === null || completion === null) return '–'
  return (
    <>
      {prompt} / {completion} <span className="muted">USD per million</span>
    </>
  )
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

const duration = (milliseconds: number | null): string =>
  milliseconds === null ? '–' : formatDuration(milliseconds)
