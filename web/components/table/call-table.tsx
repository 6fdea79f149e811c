import { Link } from '@tanstack/react-router'
import type { CallDetail, CallSummary } from '../../../src/core/api/calls.ts'
import { labelTexts } from '../../lib/calls/call-labels.ts'
import { formatCount, formatDuration, formatMoment } from '../../lib/format.ts'
import { unitCount } from '../../lib/models/unit-prices.ts'
import { Money } from '../text/money.tsx'
import { Badge, StateBadge } from '../text/values.tsx'
import { DataTable, TwoLines } from './data-table.tsx'

const USAGE_SOURCES: Record<string, string> = {
  upstream: 'the provider',
  counted: 'Switchyard, from the output',
  estimated: 'Switchyard, partly estimated from the reasoning time',
  none: 'nothing was delivered',
} satisfies Record<CallDetail['usage_source'], string>

/** How the tokens of a call were counted. */
export const usageSource = (source: string): string => USAGE_SOURCES[source] ?? source

/** How a call ended, in a word. */
export function CallStatus({ call }: { call: Pick<CallSummary, 'status' | 'error_code'> }) {
  return (
    <span className="row">
      <StateBadge state={call.status} />
      {call.error_code && <code className="text-sm">{call.error_code}</code>}
    </span>
  )
}

/** Settled calls with what they used and cost. */
export function CallTable({
  calls,
  keyNames,
  zone,
}: {
  calls: readonly CallSummary[]
  keyNames?: ReadonlyMap<string, string>
  /** Whose clocks the times are shown by; absent: the reader's. */
  zone?: string
}) {
  return (
    <DataTable
      caption="Calls, newest first"
      rows={calls}
      columns={{
        Model: (call) => (
          <TwoLines second={labelTexts(call.labels).join(' · ')}>
            <Link to="/calls/$id" params={{ id: call.id }}>
              {call.model}
              <span className="sr-only">, details of the call of {formatMoment(call.created_at, zone)}</span>
            </Link>
          </TwoLines>
        ),
        When: (call) => <span className="whitespace-nowrap">{formatMoment(call.created_at, zone)}</span>,
        Status: (call) => (
          <span className="row">
            <CallStatus call={call} />
            {call.prompt_log_until && <Badge tone="accent">prompts logged</Badge>}
          </span>
        ),
        Key: keyNames !== undefined && ((call) => keyNames.get(call.key_id) ?? <code>{call.key_id}</code>),
        'Input / output tokens': (call) => <CallUsage of={call} />,
        TTFT: (call) => formatDuration(call.first_token_ms),
        Duration: (call) => formatDuration(call.duration_ms),
        Cost: (call) => (
          <span className="whitespace-nowrap">
            <Money usd={call.cost_usd} />
            {call.byok && <span className="text-muted"> fee</span>}
          </span>
        ),
      }}
      numeric={['Input / output tokens', 'TTFT', 'Duration', 'Cost']}
    />
  )
}

/** Tokens of the prompt and of the completion. */
export function TokensInOut({ of }: { of: { prompt_tokens: number; completion_tokens: number } }) {
  return (
    <span className="whitespace-nowrap">
      {formatCount(of.prompt_tokens)} / {formatCount(of.completion_tokens)}
    </span>
  )
}

/** Tokens, or the units that the call was charged for instead. */
export const CallUsage = ({
  of,
}: {
  of: Pick<CallSummary, 'prompt_tokens' | 'completion_tokens' | 'units' | 'unit'>
}) =>
  of.unit === null || of.units === 0 ? (
    <TokensInOut of={of} />
  ) : (
    <span className="whitespace-nowrap">{unitCount(of.unit, of.units)}</span>
  )
