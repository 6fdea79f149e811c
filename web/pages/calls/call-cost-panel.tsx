import { useQuery } from '@tanstack/react-query'
import type { CallDetail } from '../../../src/core/api/calls.ts'
import { pricingQuery } from '../../api/queries.ts'
import { Panel } from '../../components/layout/page.tsx'
import { partsOfInput, usageSource } from '../../components/table/call-table.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { Facts } from '../../components/text/values.tsx'
import { type CostLine, costLines, savedAgainstList } from '../../lib/calls/call-cost.ts'
import { formatAmount, formatCount, formatShare } from '../../lib/format.ts'
import { findModel } from '../../lib/models/model-catalog.ts'
import { unitTitle } from '../../lib/models/unit-prices.ts'

/** How the cost of a call comes about, as a sum, and what the list price would have been. */
export function CallCostPanel({ call }: { call: CallDetail }) {
  const { usage, cost_usd: costUsd, byok } = call
  const { data: prices } = useQuery({ ...pricingQuery, enabled: call.rates !== null })
  const lines = costLines(call)
  const saved = savedAgainstList(call, findModel(prices?.data ?? [], call.model))
  return (
    <Panel title="Cost">
      {lines.length > 0 && <CostSum lines={lines} />}
      <div className="panel-body">
        <Facts
          wide
          rows={{
            ...(lines.length === 0 &&
              usage.source !== 'none' && {
                'Input tokens': formatCount(usage.prompt_tokens),
                ...partsOfInput(usage, ({ tokens }) => formatCount(tokens)),
                'Output tokens': formatCount(usage.completion_tokens),
                ...(usage.unit !== undefined && { [unitTitle(usage.unit)]: formatCount(usage.units ?? 0) }),
              }),
            [byok ? 'Routing fee' : 'Total']: (
              <strong>
                <Money usd={costUsd} />
              </strong>
            ),
            'At list price': saved && (
              <>
                <Money usd={saved.listUsd} />{' '}
                <span className="text-good">
                  – saved {formatAmount(saved.savedUsd)} ({formatShare(saved.share)})
                </span>
              </>
            ),
            'Counted by': !['upstream', 'none'].includes(usage.source) && usageSource(usage.source),
          }}
        />
      </div>
    </Panel>
  )
}

const CostSum = ({ lines }: { lines: readonly CostLine[] }) => (
  <DataTable
    caption="Parts of the cost"
    rows={lines}
    rowKey={({ name }) => name}
    columns={{
      Item: ({ name }) => name,
      Quantity: ({ count }) => formatCount(count),
      'USD per million': ({ rate }) => <>× {rate}</>,
      Amount: ({ usd }) => <>= {formatAmount(usd)}</>,
    }}
    numeric={['Quantity', 'USD per million', 'Amount']}
    brief={['Quantity', 'USD per million']}
  />
)
