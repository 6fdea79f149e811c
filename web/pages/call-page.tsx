import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { CallDetail, OwnKeyFailureView } from '../../src/core/api/calls.ts'
import { callQuery, keysQuery } from '../api/queries.ts'
import { CallStatus } from '../components/call-table.tsx'
import { Identifier } from '../components/identifier.tsx'
import { Money } from '../components/money.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { QueryView } from '../components/query-view.tsx'
import { formatMoment } from '../lib/dates.ts'
import { formatCount, formatDuration } from '../lib/figures.ts'

/** One call: what it used, what that cost and why, and how long it took. */
export function CallPage() {
  const { id } = useParams({ from: '/account/calls/$id' })
  const query = useQuery(callQuery(id, { awaitSettling: true }))
  return (
    <>
      <nav className="breadcrumb" aria-label="Breadcrumb">
        <Link to="/usage">← Usage</Link>
      </nav>
      <PageHead title="Call" description={<Identifier id={id} of="the call id" />} />
      <QueryView query={query}>{(call) => <CallView call={call} />}</QueryView>
    </>
  )
}

function CallView({ call }: { call: CallDetail }) {
  const { data: keys } = useQuery(keysQuery)
  const key = keys?.data.find(({ id }) => id === call.key_id)
  return (
    <>
      <dl className="figures">
        <div className="figure">
          <dt>{call.byok ? 'Routing fee' : 'Cost'}</dt>
          <dd>
            <Money usd={call.cost_usd} />
          </dd>
        </div>
        <div className="figure">
          <dt>First token</dt>
          <dd>{call.first_token_ms === null ? '–' : formatDuration(call.first_token_ms)}</dd>
        </div>
        <div className="figure">
          <dt>Duration</dt>
          <dd>{formatDuration(call.duration_ms)}</dd>
        </div>
      </dl>
      <div className="grid-2">
        <Panel title="What it was">
          <div className="panel-body">
            <dl className="facts">
              <dt>Model</dt>
              <dd>{call.model}</dd>
              <dt>Status</dt>
              <dd>
                <CallStatus call={call} />
              </dd>
              <dt>Finish reason</dt>
              <dd>{call.finish_reason ?? '–'}</dd>
              <dt>Streamed</dt>
              <dd>
                {call.stream ? 'yes' : 'no'}
                {call.rescued && '; it broke off, and was continued without a seam'}
              </dd>
              <dt>Key</dt>
              <dd>{key ? key.name : <code>{call.key_id}</code>}</dd>
              <dt>Own provider key</dt>
              <dd>{call.byok ? 'yes: the provider bills you, this is our fee' : 'no'}</dd>
              {call.provider_key_failures.length > 0 && (
                <>
                  <dt>Own keys that failed</dt>
                  <dd>
                    <span className="stack-small">
                      {call.provider_key_failures.map((failure, index) => (
                        // biome-ignore lint/suspicious/noArrayIndexKey: attempts of a settled call never change.
                        <span key={index}>
                          {failure.provider_key_id && <code>{failure.provider_key_id} </code>}
                          {OWN_KEY_FAILURES[failure.reason]}
                        </span>
                      ))}
                    </span>
                  </dd>
                </>
              )}
              <dt>Request id</dt>
              <dd>
                <code>{call.request_id}</code>
              </dd>
            </dl>
          </div>
        </Panel>
        <Panel title="What it cost">
          <div className="panel-body">
            <dl className="facts">
              <dt>Tokens in</dt>
              <dd className="number">
                {formatCount(call.prompt_tokens)}
                {call.rates && <span className="muted"> × ${call.rates.prompt} per million</span>}
              </dd>
              {call.audio_tokens > 0 && (
                <>
                  <dt>Of them audio</dt>
                  <dd className="number">
                    {formatCount(call.audio_tokens)}
                    {call.rates?.prompt_audio && (
                      <span className="muted"> × ${call.rates.prompt_audio} per million</span>
                    )}
                  </dd>
                </>
              )}
              {call.image_tokens > 0 && (
                <>
                  <dt>Of them images</dt>
                  <dd className="number">
                    {formatCount(call.image_tokens)}
                    {call.rates?.prompt_image && (
                      <span className="muted"> × ${call.rates.prompt_image} per million</span>
                    )}
                  </dd>
                </>
              )}
              <dt>Tokens out</dt>
              <dd className="number">
                {formatCount(call.completion_tokens)}
                {call.rates && <span className="muted"> × ${call.rates.completion} per million</span>}
              </dd>
              <dt>{call.byok ? 'Routing fee' : 'Cost'}</dt>
              <dd>
                <Money usd={call.cost_usd} />
              </dd>
              <dt>Tokens counted by</dt>
              <dd>{SOURCES[call.usage_source]}</dd>
              <dt>Admitted</dt>
              <dd>{formatMoment(call.created_at)}</dd>
              <dt>In the queue</dt>
              <dd>{call.queued_ms === null ? '–' : formatDuration(call.queued_ms)}</dd>
              <dt>Finished</dt>
              <dd>{formatMoment(call.finished_at)}</dd>
              <dt>Charged</dt>
              <dd>{formatMoment(call.settled_at)}</dd>
            </dl>
          </div>
        </Panel>
      </div>
    </>
  )
}

const OWN_KEY_FAILURES: Record<OwnKeyFailureView['reason'], string> = {
  unauthorized: 'was refused: the provider does not accept it',
  payment_required: 'was refused: the provider asks for payment',
  forbidden: 'was refused: the provider does not permit it to do this',
  model_not_found: 'was refused: the provider does not offer this model to it',
  not_in_use: 'was deleted or switched off',
  rate_limited: 'is rate limited',
  unavailable: 'could not be looked up',
  provider_failed: 'was not to blame: the provider failed',
}

const SOURCES: Record<CallDetail['usage_source'], string> = {
  upstream: 'the provider',
  counted: 'us, from what was produced',
  estimated: 'us, partly by how long the model reasoned out of sight',
  none: 'nobody: nothing was delivered',
}
