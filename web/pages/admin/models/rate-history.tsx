import { useQuery } from '@tanstack/react-query'
import { rateHistoryQuery } from '../../../api/operator-queries.ts'
import { DataTable } from '../../../components/data-table.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { formatMoment } from '../../../lib/dates.ts'

/** The rates that a model had, each with its version, as calls name it. */
export function RateHistory({ modelId }: { modelId: string }) {
  const query = useQuery(rateHistoryQuery(modelId))
  return (
    <QueryView query={query}>
      {({ data }) =>
        data.length === 0 ? (
          <p className="panel-body muted">None is known yet; a new rate appears within a minute.</p>
        ) : (
          <DataTable
            caption="Rates in USD per million tokens, newest first"
            rows={data}
            rowKey={(row) => `${row.rate_version} ${row.effective_at}`}
            columns={[
              { header: 'Since', title: true, cell: (row) => formatMoment(row.effective_at) },
              { header: 'Rate in / out', numeric: true, cell: (row) => `${row.prompt} / ${row.completion}` },
              {
                header: 'List in / out',
                numeric: true,
                cell: (row) => `${row.list_prompt} / ${row.list_completion}`,
              },
              {
                header: 'Audio / images in',
                numeric: true,
                cell: (row) =>
                  row.prompt_audio === null && row.prompt_image === null
                    ? 'as in'
                    : `${row.prompt_audio ?? row.prompt} / ${row.prompt_image ?? row.prompt}`,
              },
              { header: 'Version', cell: (row) => <code>{row.rate_version}</code> },
              { header: 'Catalog', cell: ({ source }) => <code>{source}</code> },
            ]}
          />
        )
      }
    </QueryView>
  )
}
