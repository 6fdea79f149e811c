import { Link } from '@tanstack/react-router'
import { ScrollText } from 'lucide-react'
import type { ReactNode } from 'react'
import type { AccountCall, CallSort, Generation, OperatorCall } from '../../../src/core/api/calls.ts'
import { labelTexts } from '../../lib/calls/call-labels.ts'
import { formatCount, formatDuration, formatMoment } from '../../lib/format.ts'
import { bareName } from '../../lib/models/model-catalog.ts'
import { unitCount } from '../../lib/models/unit-prices.ts'
import { Money } from '../text/money.tsx'
import { Moment, StateBadge } from '../text/values.tsx'
import { DataTable, InCard, TwoLines } from './data-table.tsx'
import type { TableSort } from './table-sort.tsx'

const USAGE_SOURCES: Record<string, string> = {
  upstream: 'provider',
  counted: 'Shuntyard, from the output',
  estimated: 'Shuntyard, in part from the reasoning time',
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
export const CallOutcome = (props: {
  call: Pick<Generation, 'status' | 'error_code'>
  /** Its prompt and answer can be read. */
  isLogged?: boolean
}) => (
  <>
    {props.call.status === 'completed' ? (
      <span className="in-table inline-flex min-h-[1.4em] items-center" title="completed">
        <span className="size-1.5 rounded-full bg-good" aria-hidden="true" />
        <span className="sr-only">completed</span>
      </span>
    ) : (
      <CallStatus call={props.call} />
    )}
    {props.isLogged && (
      <span className="ml-1 inline-flex align-middle" title="prompts logged">
        <ScrollText size={15} className="text-accent" aria-hidden="true" />
        <span className="sr-only">prompts logged</span>
      </span>
    )}
  </>
)

/** How a call ended, in a word. */
export const CallStatus = ({ call }: { call: Pick<Generation, 'status' | 'error_code'> }) => (
  <span className="row">
    <StateBadge state={call.status} />
    {call.error_code && <code className="text-sm whitespace-nowrap">{call.error_code}</code>}
  </span>
)

/** A call in a list, for its owner or for operators. */
interface CallRow {
  id: string
  /** The page of the call. */
  to: '/calls/$id' | '/admin/calls/$id'
  model: string
  /** Small type below the model, for calls that completed. */
  labels: string[]
  status: Generation['status']
  error_code: string | null
  at: string
  isLogged: boolean
  /** Whose it is: a key, or a customer. */
  of: ReactNode
  usage: { prompt_tokens: number; completion_tokens: number; units?: number; unit?: string | null }
  first_token_ms: number | null
  duration_ms: number
  cost_usd: string
  isFee: boolean
  /** For operators. */
  margin_usd?: string
}

/** A call as its owner sees it. `keyNames`: by id; absent: the list is of one key. */
export const accountCallRow = (call: AccountCall, keyNames?: ReadonlyMap<string, string>): CallRow => ({
  ...call,
  ...call.timings,
  to: '/calls/$id',
  model: bareName(call.model),
  labels: labelTexts(call.labels),
  at: call.timings.admitted_at,
  isLogged: call.prompt_log_until !== undefined,
  of: keyNames && (keyNames.get(call.key_id) ?? <code>{call.key_id}</code>),
  isFee: call.byok,
})

/** The same for operators: with the model that served it, and the margin. */
export const operatorCallRow = (call: OperatorCall, of: ReactNode): CallRow => ({
  ...call,
  to: '/admin/calls/$id',
  model:
    call.served_model === null || call.served_model === call.requested_model
      ? call.requested_model
      : `${call.requested_model} → ${call.served_model}`,
  labels: [],
  at: call.admitted_at,
  isLogged: false,
  of,
  usage: call,
  cost_usd: call.charged_usd,
  isFee: call.is_byok,
})

/** What columns of calls are sorted by. */
const SORTED = {
  When: 'time',
  'Input / output tokens': 'tokens',
  TTFT: 'first_token',
  Duration: 'duration',
  Cost: 'cost',
} satisfies Record<string, CallSort>

/** Settled calls, each a line of 40 pixels. `of`: the header of whose they are; absent: the list is of one key. */
export function CallTable(props: {
  rows: readonly CallRow[]
  of?: 'Key' | 'Customer'
  sort?: Omit<TableSort<string>, 'columns'>
  /** The time zone of the times; absent: the one chosen in this browser. */
  zone?: string
  empty?: string
}) {
  const { rows, of, zone, sort, empty } = props
  const whose = of ?? 'Key'
  return (
    <DataTable
      caption={sort ? 'Calls' : 'Calls, newest first'}
      sort={sort && { ...sort, columns: SORTED }}
      rows={rows}
      empty={empty}
      plan={{
        When: 7.5,
        Status: 5.25,
        [whose]: of === 'Customer' ? 11 : 14,
        'Input / output tokens': 8.25,
        TTFT: 4.5,
        Duration: 5.25,
        Cost: 7.25,
        Margin: 7.25,
      }}
      columns={{
        Model: (call) => (
          <TwoLines
            second={
              call.error_code === null ? (
                call.labels.join(' · ')
              ) : (
                <code className="text-bad">{call.error_code}</code>
              )
            }
          >
            <Link to={call.to} params={{ id: call.id }} title={call.model}>
              {call.model}
              <span className="sr-only">, details of the call of {formatMoment(call.at, zone)}</span>
            </Link>
          </TwoLines>
        ),
        When: (call) => <Moment at={call.at} zone={zone} isShort />,
        Status: (call) => <CallOutcome call={{ ...call, error_code: null }} isLogged={call.isLogged} />,
        [whose]: of !== undefined && ((call: CallRow) => call.of),
        'Input / output tokens': (call) => <CallUsage of={call.usage} />,
        TTFT: (call) => formatDuration(call.first_token_ms),
        Duration: (call) => formatDuration(call.duration_ms),
        Cost: (call) => (
          <>
            <Money usd={call.cost_usd} />
            {call.isFee && <span className="text-muted"> fee</span>}
          </>
        ),
        Margin: rows[0]?.margin_usd !== undefined && ((call) => <Money usd={call.margin_usd} />),
      }}
      numeric={['Input / output tokens', 'TTFT', 'Duration', 'Cost', 'Margin']}
      lead="Cost"
      long={['Status']}
      brief={
        of === 'Customer' ? ['When', 'Customer', 'Duration'] : ['When', 'Input / output tokens', 'Duration']
      }
    />
  )
}

/** Tokens of the prompt and of the completion. */
export const TokensInOut = ({ of }: { of: { prompt_tokens: number; completion_tokens: number } }) => (
  <span className="whitespace-nowrap">
    {formatCount(of.prompt_tokens)} / {formatCount(of.completion_tokens)}
    <InCard> tokens</InCard>
  </span>
)

/** Tokens, or the units that the call was charged for instead. */
const CallUsage = ({
  of,
}: {
  of: { prompt_tokens: number; completion_tokens: number; units?: number; unit?: string | null }
}) =>
  !of.unit || !of.units ? (
    <TokensInOut of={of} />
  ) : (
    <span className="whitespace-nowrap">{unitCount(of.unit, of.units)}</span>
  )
