import { useQuery } from '@tanstack/react-query'
import { rateHistoryQuery } from '../../../api/operator-queries.ts'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { formatMoment } from '../../../lib/format.ts'

/** The rates of a model over time, each with the version that calls refer to. */
export function RateHistory({ modelId }: { modelId: string }) {
  const query = useQuery(rateHistoryQuery(modelId))
  return (
    <QueryView query={query}>
      {({ data }) => (
        <DataTable
          empty="None yet; a new rate appears within a minute."
          caption="Rates in USD per million tokens, newest first"
          rows={data}
          rowKey={(row) => `${row.rate_version} ${row.effective_at}`}
          columns={{
            Since: (row) => formatMoment(row.effective_at),
            'Rate in / out': (row) => `${row.prompt} / ${row.completion}`,
            'List in / out': (row) => `${row.list_prompt} / ${row.list_completion}`,
            'Audio / images in': (row) =>
              row.prompt_audio === null && row.prompt_image === null
                ? 'as in'
                : `${row.prompt_audio ?? row.prompt} / ${row.prompt_image ?? row.prompt}`,
            Version: (row) => <code>{row.rate_version}</code>,
            Catalog: ({ source }) => <code>{source}</code>,
          }}
          numeric={['Rate in / out', 'List in / out', 'Audio / images in']}
        />
      )}
    </QueryView>
  )
}
