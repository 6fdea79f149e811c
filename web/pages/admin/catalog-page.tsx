import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { CatalogView } from '../../../src/core/api/catalog.ts'
import { catalogHistoryQuery, catalogQuery } from '../../api/operator-queries.ts'
import { PageHead } from '../../components/page-head.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { formatMoment } from '../../lib/dates.ts'
import { formatCount } from '../../lib/figures.ts'
import { EditsEditor } from './catalog/edits-editor.tsx'
import { EditsHistory } from './catalog/edits-history.tsx'

/** The operator's own document over the catalog: edited, checked, compared, applied, and taken back. */
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
            <CatalogFigures catalog={view} />
            <Panel title="The document that holds">
              <div className="panel-body">
                <EditsEditor current={view.edits} />
              </div>
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

function CatalogFigures({ catalog }: { catalog: CatalogView }) {
  return (
    <dl className="figures">
      <div className="figure">
        <dt>Models</dt>
        <dd>{formatCount(catalog.models)}</dd>
        <dd className="figure-note">{formatCount(catalog.available_models)} served here</dd>
      </div>
      <div className="figure">
        <dt>Offers</dt>
        <dd>{formatCount(catalog.offers)}</dd>
      </div>
      <div className="figure">
        <dt>Version of the edits</dt>
        <dd>{catalog.edits?.version ?? 'none yet'}</dd>
        {catalog.edits && <dd className="figure-note">since {formatMoment(catalog.edits.created_at)}</dd>}
      </div>
      <div className="figure">
        <dt>Version of the catalog</dt>
        <dd>
          <code>{catalog.version}</code>
        </dd>
        <dd className="figure-note">made {formatMoment(catalog.generated_at)}</dd>
      </div>
    </dl>
  )
}
