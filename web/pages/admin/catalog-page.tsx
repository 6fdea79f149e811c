import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { catalogHistoryQuery, catalogQuery } from '../../api/operator-queries.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { Stats } from '../../components/text/values.tsx'
import { formatCount, formatMoment } from '../../lib/format.ts'
import { EditsEditor } from './catalog/edits-editor.tsx'
import { EditsHistory } from './catalog/edits-history.tsx'

/** The operator's edits over the catalog: edited, checked, compared, applied and reverted. */
export function CatalogPage() {
  const catalog = useQuery(catalogQuery)
  const history = useQuery(catalogHistoryQuery)
  return (
    <>
      <PageHead
        title="Catalog edits"
        description={
          <>
            One document over the built-in catalog and the catalog file, for every process. To disable a model
            or an offer, or to change a rate, open it under <Link to="/admin/models">Models and margin</Link>.
          </>
        }
      />
      <QueryView query={catalog}>
        {(view) => (
          <>
            <Stats
              rows={{
                Models: formatCount(view.models),
                Offers: formatCount(view.offers),
                'Version of the edits': view.edits?.version ?? 'none yet',
                'Version of the catalog': <code>{view.version}</code>,
              }}
              notes={{
                Models: `${formatCount(view.available_models)} served here`,
                'Version of the edits': view.edits && `since ${formatMoment(view.edits.created_at)}`,
                'Version of the catalog': `generated ${formatMoment(view.generated_at)}`,
              }}
            />
            <Panel title="The current document" padded>
              <EditsEditor current={view.edits} />
            </Panel>
            <Panel title="Versions">
              <QueryView query={history}>
                {({ data }) => <EditsHistory versions={data} current={view.edits} />}
              </QueryView>
            </Panel>
          </>
        )}
      </QueryView>
    </>
  )
}
