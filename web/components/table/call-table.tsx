import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AccountCall, CallSort, Generation } from '../../../src/core/api/calls.ts'
import { labelTexts } from '../../lib/calls/call-labels.ts'
import { formatCount, formatDuration, formatMoment } from '../../lib/format.ts'
import { unitCount } from '../../lib/models/unit-prices.ts'
import { Breakable } from '../text/code.tsx'
import { Money } from '../text/money.tsx'
import { Badge, Moment, StateBadge } from '../text/values.tsx'
import { DataTable, InCard, TwoLines } from './data-table.tsx'
import type { TableSort } from './table-sort.tsx'

const USAGE_SOURCES: Record<string, string> = {
  upstream: 'provider',
  counted: 'counted by Shuntyard from the output',
  estimated: 'estimated by Shuntyard, in part from the reasoning time',
  none: 'nothing was delivered',
} satisfies Record<Generation['usage']['source'], string>

/** How the tokens of a call were counted. */
export const usageSource = (source: string): string => USAGE_SOURCES[source] ?? source

/** Tokens of the input, and uses of the provider's tools, that have a rate of their own, by the names of counts and rates. */
const INPUT_PARTS = [
  ['Audio tokens (of input)', 'audio_tokens', 'prompt_audio'],
  ['Image tokens (of input)', 'image_tokens', 'prompt_image'],
  ['Cached tokens (of input)', 'cached_tokens', 'cache_read'],
  ['Cache writes (of input)', 'cache_write_tokens', 'cache_write'],
  ['Of these for an hour', 'cache_write_hour_tokens', 'cache_write_hour'],
  ['Web searches', 'web_searches', 'web_search'],
  ['Code execution', 'code_executions', 'code_execution'],
] as const
type InputPart = (typeof INPUT_PARTS)[number]

/** The parts of a call's input that are not empty, as rows. */
export const partsOfInput = (
  usage: Partial<Record<InputPart[1], number>>,
  show: (part: { tokens: number; rate: InputPart[2] }) => ReactNode,
) =>
  Object.fromEntries(
    INPUT_PARTS.map(([name, count, rate]) => {
      const tokens = usage[count] ?? 0
      return [name, tokens > 0 && show({ tokens, rate })]
    }),
  )

/** How a call of a list ended: a dot for what completed, as most do, and else the word. */
export const CallOutcome = ({ call }: { call: Pick<Generation, 'status' | 'error_code'> }) =>
  call.status === 'completed' ? (
    <span className="in-table inline-flex min-h-[1.4em] items-center" title="completed">
      <span className="size-1.5 rounded-full bg-good" aria-hidden="true" />
      <span className="sr-only">completed</span>
    </span>
  ) : (
    <CallStatus call={call} />
  )

/** How a call ended, in a word. */
export const CallStatus = ({ call }: { call: Pick<Generation, 'status' | 'error_code'> }) => (
  <span className="row">
    <StateBadge state={call.status} />
    {call.error_code && <code className="text-sm whitespace-nowrap">{call.error_code}</code>}
  </span>
)

/** What columns of calls are sorted by. */
const SORTED = {
  When: 'time',
  'Input / output tokens': 'tokens',
  TTFT: 'first_token',
  Duration: 'duration',
  Cost: 'cost',
} satisfies Record<string, CallSort>

/** Settled calls with what they used and cost. */
export const CallTable = ({
  calls,
  keyNames,
  zone,
  sort,
}: {
  calls: readonly AccountCall[]
  keyNames?: ReadonlyMap<string, string>
  sort?: Omit<TableSort<string>, 'columns'>
  /** The time zone of the times; absent: the one chosen in this browser. */
  zone?: string
}) => (
  <DataTable
    caption={sort ? 'Calls' : 'Calls, newest first'}
    sort={sort && { ...sort, columns: SORTED }}
    rows={calls}
    columns={{
      Model: (call) => (
        <TwoLines second={labelTexts(call.labels).join(' · ')}>
          <Link to="/calls/$id" params={{ id: call.id }}>
            <Breakable text={call.model} />
            <span className="sr-only">
              , details of the call of {formatMoment(call.timings.admitted_at, zone)}
            </span>
          </Link>
        </TwoLines>
      ),
      When: (call) => <Moment at={call.timings.admitted_at} zone={zone} />,
      Status: (call) => (
        <>
          <CallOutcome call={call} /> {call.prompt_log_until && <Badge tone="accent">prompts logged</Badge>}
        </>
      ),
      Key: keyNames !== undefined && ((call) => keyNames.get(call.key_id) ?? <code>{call.key_id}</code>),
      'Input / output tokens': (call) => <CallUsage of={call.usage} />,
      TTFT: (call) => formatDuration(call.timings.first_token_ms),
      Duration: (call) => formatDuration(call.timings.duration_ms),
      Cost: (call) => (
        <span className="whitespace-nowrap">
          <Money usd={call.cost_usd} />
          {call.byok && <span className="text-muted"> fee</span>}
        </span>
      ),
    }}
    numeric={['Input / output tokens', 'TTFT', 'Duration', 'Cost']}
    long={['Status']}
    brief={['When', 'Input / output tokens', 'Duration']}
  />
)

/** Tokens of the prompt and of the completion. */
export const TokensInOut = ({ of }: { of: { prompt_tokens: number; completion_tokens: number } }) => (
  <span className="whitespace-nowrap">
    {formatCount(of.prompt_tokens)} / {formatCount(of.completion_tokens)}
    <InCard> tokens</InCard>
  </span>
)

/** Tokens, or the units that the call was charged for instead. */
export const CallUsage = ({
  of,
}: {
  of: { prompt_tokens: number; completion_tokens: number; units?: number; unit?: string | null }
}) =>
  !of.unit || !of.units ? (
    <TokensInOut of={of} />
  ) : (
    <span className="whitespace-nowrap">{unitCount(of.unit, of.units)}</span>
  )
