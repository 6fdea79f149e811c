import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { ByokFailureView, CallDetail } from '../../src/core/api/calls.ts'
import { callQuery, keysQuery } from '../api/queries.ts'
import { QueryView } from '../components/feedback/messages.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { CallStatus, usageSource } from '../components/table/call-table.tsx'
import { Identifier } from '../components/text/copy.tsx'
import { Facts, Money, Stats } from '../components/text/values.tsx'
import { formatCount, formatDuration, formatMoment } from '../lib/format.ts'
import { unitPriceText, unitTitle } from '../lib/unit-prices.ts'

/** One call: its usage, its cost and the reasons for it, and its duration. */
export function CallPage() {
  const { id } = useParams({ from: '/account/calls/$id' })
  return (
    <>
      <PageHead
        back={<Link to="/usage">← Usage</Link>}
        title="Call"
        description={<Identifier id={id} of="the call id" />}
      />
      <QueryView query={useQuery(callQuery(id))}>{(call) => <CallView call={call} />}</QueryView>
    </>
  )
}

function CallView({ call }: { call: CallDetail }) {
  const { data: keys } = useQuery(keysQuery)
  const key = keys?.data.find(({ id }) => id === call.key_id)
  const { rates, provider_key_failures: failures } = call
  const costName = call.byok ? 'Routing fee' : 'Cost'
  return (
    <>
      <Stats
        rows={{
          [costName]: <Money usd={call.cost_usd} />,
          'First token': formatDuration(call.first_token_ms),
          Duration: formatDuration(call.duration_ms),
        }}
      />
      <div className="columns">
        <Panel title="The call" padded>
          <Facts
            rows={{
              Model: call.model,
              Status: <CallStatus call={call} />,
              'Finish reason': call.finish_reason ?? '–',
              Streamed: `${call.stream ? 'yes' : 'no'}${call.rescued ? '; it broke off, and another provider continued it' : ''}`,
              Key: key ? key.name : <code>{call.key_id}</code>,
              'Own provider key': call.byok ? 'yes: the provider bills you, this is our fee' : 'no',
              'Provider keys that failed': failures.length > 0 && <KeyFailures failures={failures} />,
              'Request id': <code>{call.request_id}</code>,
            }}
          />
        </Panel>
        <Panel title="Its cost" padded>
          <Facts
            rows={{
              'Tokens in': <Tokens count={call.prompt_tokens} rate={rates?.prompt} />,
              'Of them audio': call.audio_tokens > 0 && (
                <Tokens count={call.audio_tokens} rate={rates?.prompt_audio} />
              ),
              'Of them images': call.image_tokens > 0 && (
                <Tokens count={call.image_tokens} rate={rates?.prompt_image} />
              ),
              'Of them read from the cache': call.cached_tokens > 0 && (
                <Tokens count={call.cached_tokens} rate={rates?.cache_read} />
              ),
              'Of them written to the cache': call.cache_write_tokens > 0 && (
                <Tokens count={call.cache_write_tokens} rate={rates?.cache_write} />
              ),
              'Tokens out': <Tokens count={call.completion_tokens} rate={rates?.completion} />,
              ...(call.unit !== null && {
                [unitTitle(call.unit)]: <Units count={call.units} unit={call.unit} rate={rates?.units} />,
              }),
              [costName]: <Money usd={call.cost_usd} />,
              'Tokens counted by': usageSource(call.usage_source),
              Admitted: formatMoment(call.created_at),
              'In the queue': formatDuration(call.queued_ms),
              Finished: formatMoment(call.finished_at),
              Charged: formatMoment(call.settled_at),
            }}
          />
        </Panel>
      </div>
    </>
  )
}

function Tokens({ count, rate }: { count: number; rate: string | null | undefined }) {
  return (
    <span className="tabular-nums">
      {formatCount(count)}
      {rate && <span className="text-muted"> × ${rate} per million</span>}
    </span>
  )
}

function Units({ count, unit, rate }: { count: number; unit: string; rate: string | undefined }) {
  return (
    <span className="tabular-nums">
      {formatCount(count)}
      {rate && <span className="text-muted"> at {unitPriceText(unit, rate)}</span>}
    </span>
  )
}

function KeyFailures({ failures }: { failures: CallDetail['provider_key_failures'] }) {
  return (
    <span className="stack gap-2">
      {failures.map((failure, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: attempts of a settled call never change.
        <span key={index}>
          {failure.provider_key_id && <code>{failure.provider_key_id} </code>}
          {BYOK_FAILURES[failure.reason]}
        </span>
      ))}
    </span>
  )
}

const BYOK_FAILURES: Record<ByokFailureView['reason'], string> = {
  unauthorized: 'was refused: the provider does not accept it',
  payment_required: 'was refused: the provider asks for payment',
  forbidden: 'was refused: the provider does not permit it to do this',
  model_not_found: 'was refused: the provider does not offer this model to it',
  not_in_use: 'was deleted or switched off',
  rate_limited: 'is rate limited',
  unavailable: 'could not be looked up',
  provider_failed: 'was not to blame: the provider failed',
}
