import type { ReactNode } from 'react'
import type { OperatorRefusalView, RefusalsView, RefusalView } from '../../../src/core/api/refusals.ts'
import { errorReason } from '../../lib/error-reasons.ts'
import { formatCount, formatMoment, plural } from '../../lib/format.ts'
import { formatShortStart, formatStart, SERIES_MAX, seriesFills } from '../../lib/usage-view.ts'
import { ChartFigure, ChartKey } from '../chart/chart-figure.tsx'
import { Sparkline } from '../chart/sparkline.tsx'
import { DataTable, TwoLines } from './data-table.tsx'

type Row = RefusalView & Partial<OperatorRefusalView>

/** Requests that were refused before a call was admitted, by reason and key. `account`: shows whose they are. */
export const RefusalTable = (props: {
  rows: readonly Row[]
  empty: string
  account?: (row: Row) => ReactNode
  zone?: string
}) => (
  <DataTable
    caption="Refused requests, the most frequent first"
    rows={props.rows}
    rowKey={({ account_id: account, key_id: key, code }) => `${account} ${key} ${code}`}
    empty={props.empty}
    columns={{
      Reason: ({ code, status }) => (
        <TwoLines
          second={
            <code>
              {status} {code}
            </code>
          }
        >
          {errorReason(code)}
        </TwoLines>
      ),
      Account: props.account ?? false,
      'API key': ({ key_id: id, key_name: name }) =>
        id === null ? (
          <span className="text-muted">not known</span>
        ) : (
          <TwoLines second={<code className="wrap-anywhere">{id}</code>}>{name || 'unnamed'}</TwoLines>
        ),
      Trend: ({ over_time: values }) => <Sparkline values={values} />,
      Requests: ({ requests }) => formatCount(requests),
      Last: ({ last_at: at }) => <span className="whitespace-nowrap">{formatMoment(at, props.zone)}</span>,
    }}
    numeric={['Requests', 'Last']}
  />
)

/** Refused requests over time, by reason. `onPick`: a part of the period was chosen. */
export function RefusalChart(props: {
  refusals: Pick<RefusalsView, 'data' | 'starts'>
  zone?: string
  onPick?: (at: string, interval: 'hour' | 'day') => void
}) {
  const { refusals, zone = 'UTC', onPick } = props
  const { data, starts } = refusals
  const codes = [...new Set(data.map(({ code }) => code))].slice(0, SERIES_MAX)
  const fillOf = seriesFills(codes)
  const interval = Date.parse(starts[1] ?? '') - Date.parse(starts[0] ?? '') > 7_200_000 ? 'day' : 'hour'
  const sum = (index: number, of: (code: string) => boolean) =>
    data.reduce((total, row) => total + (of(row.code) ? (row.over_time[index] ?? 0) : 0), 0)
  return (
    <div className="panel-body">
      <ChartFigure
        caption={`Refused requests by ${interval} and reason.`}
        keys={codes.map((code) => (
          <ChartKey key={code} colour={fillOf(code)}>
            {code}
          </ChartKey>
        ))}
        chart={{
          points: starts.map((at, index) => {
            const value = sum(index, () => true)
            const named = codes.map((code) => ({ code, value: sum(index, (one) => one === code) }))
            const rest = value - named.reduce((total, part) => total + part.value, 0)
            return {
              at,
              value,
              parts: [...named, { code: 'other', value: rest }].map((part) => ({
                name: part.code,
                value: part.value,
                fill: fillOf(part.code),
              })),
              text: `${formatStart(at, interval, zone)}: ${plural(value, 'refused request')}`,
            }
          }),
          formatValue: formatCount,
          formatLabel: (at) => formatShortStart(at, interval, zone),
          isWhole: true,
          onPick: onPick && ((at) => onPick(at, interval)),
        }}
      />
    </div>
  )
}
