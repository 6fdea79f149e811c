import { useState } from 'react'
import type { ProviderStatus, ProviderStatusList } from '../../../src/core/api/provider-status.ts'
import { UptimeBars } from '../../components/chart/uptime-bars.tsx'
import { ChoiceField } from '../../components/form/fields.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { Badge, Moment } from '../../components/text/values.tsx'
import { formatDuration, formatMoment, plural } from '../../lib/format.ts'

type PeriodName = keyof ProviderStatusList['periods']

const PERIODS = [
  { value: 'day', name: '24 hours' },
  { value: 'week', name: '7 days' },
  { value: 'quarter', name: '90 days' },
] satisfies Array<{ value: PeriodName; name: string }>

const STATES: Record<ProviderStatus['state'], { tone: 'good' | 'warn' | 'bad' | 'plain'; name: string }> = {
  operational: { tone: 'good', name: 'Operational' },
  degraded: { tone: 'warn', name: 'Degraded' },
  down: { tone: 'bad', name: 'Down' },
  unknown: { tone: 'plain', name: 'No data' },
}

/** How providers do: uptime in bars, latency, open circuits and incidents. */
export function ProviderStatusView({ status }: { status: ProviderStatusList }) {
  const [period, setPeriod] = useState<PeriodName>('quarter')
  const { name: length = '' } = PERIODS.find(({ value }) => value === period) ?? {}
  return (
    <>
      <div className="toolbar">
        <ChoiceField
          label="Period"
          value={period}
          options={PERIODS}
          onChange={(value) => setPeriod(value as PeriodName)}
        />
      </div>
      <Panel title="Providers">
        <DataTable
          caption={`Providers, with their uptime over ${length}`}
          rows={status.data}
          empty="No provider serves calls at present."
          columns={{
            Provider: ({ name }) => name,
            Status: (provider) => <State provider={provider} />,
            Uptime: (provider) => (
              <UptimeBars
                of={provider[period]}
                from={status.periods[period].from}
                stepHours={status.periods[period].step_hours}
              />
            ),
            'TTFT (p50)': (provider) => formatDuration(provider.latency_p50_ms),
            'TTFT (p95)': (provider) => formatDuration(provider.latency_p95_ms),
          }}
          numeric={['TTFT (p50)', 'TTFT (p95)']}
          long={['Uptime']}
        />
        <p className="px-inset pt-2 pb-4 text-sm text-muted">
          Uptime is the share of requests that a provider answered, of those it answered or failed; hours and
          days are in UTC, and low grey bars had fewer than ten requests. Time to first token (TTFT) is of the
          last 24 hours. As of {formatMoment(status.at)}.
        </p>
      </Panel>
      <Panel title="Incidents of the last 7 days">
        <DataTable
          caption="Incidents, the latest first"
          rows={status.incidents}
          rowKey={({ provider, started_at: started }) => `${provider} ${started}`}
          empty="No incidents."
          columns={{
            Provider: ({ provider }) => provider,
            Extent: ({ extent }) => (extent === 'full' ? 'All models' : 'Some models'),
            Started: ({ started_at: started }) => <Moment at={started} />,
            Ended: ({ ended_at: ended }) =>
              ended === null ? <Badge tone="bad">ongoing</Badge> : formatMoment(ended),
          }}
        />
      </Panel>
    </>
  )
}

function State({ provider }: { provider: ProviderStatus }) {
  const { tone, name } = STATES[provider.state]
  const { open_circuits: open } = provider
  return (
    <TwoLines second={open > 0 && `${plural(open, 'open circuit')}`}>
      <Badge tone={tone}>{name}</Badge>
    </TwoLines>
  )
}
