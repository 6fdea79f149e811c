import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { CatalogEditsApplied, CatalogEditsView } from '../../../src/core/api/catalog.ts'
import { catalogHistoryQuery, catalogQuery } from '../../api/operator-queries.ts'
import { requestJson } from '../../api/request.ts'
import { ConfirmDialog } from '../../components/feedback/dialogs.tsx'
import { QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { CodeBlock } from '../../components/text/copy.tsx'
import { DiffView } from '../../components/text/diff-view.tsx'
import { Badge, Moment, Stats } from '../../components/text/values.tsx'
import { formatCount, formatMoment } from '../../lib/format.ts'
import { writeDocument } from '../../lib/operators/catalog-edits.ts'
import { ActorName } from './actor-name.tsx'
import { checkQuery, EditEffects, isHarmful } from './catalog/apply-edits-dialog.tsx'
import { OperatorButton } from './operator-button.tsx'

/** The operator's edits over the catalog as a document, compared with earlier ones and reverted. */
export function CatalogPage() {
  const catalog = useQuery(catalogQuery)
  const history = useQuery(catalogHistoryQuery)
  return (
    <>
      <PageHead
        title="Price & model overrides"
        description={
          <>
            Applied on top of the built-in catalog and the catalog file. To disable a model or an offer, or to
            change a rate, open it under <Link to="/admin/models">Models & margin</Link>. To add a model, or
            apply a whole document: <code>npm run catalog -- apply FILE</code>.
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
                Revision: view.edits?.version ?? 'none',
                'Catalog version': <code className="text-xs">{view.version}</code>,
              }}
              notes={{
                Models: `${formatCount(view.available_models)} available here`,
                Revision: view.edits && `since ${formatMoment(view.edits.created_at)}`,
                'Catalog version': `generated ${formatMoment(view.generated_at)}`,
              }}
            />
            <Panel title="Current overrides" padded>
              <CodeBlock code={writeDocument(view.edits?.content ?? {})} of="the overrides" />
            </Panel>
            <Panel title="Revisions">
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

/** Every version of the edits; each can be reverted to. */
function EditsHistory(props: { versions: readonly CatalogEditsView[]; current: CatalogEditsView | null }) {
  const { versions, current } = props
  return (
    <DataTable
      caption="Revisions, newest first"
      rows={versions}
      rowKey={({ version }) => version}
      empty="No overrides yet. Each applied revision is kept here."
      columns={{
        Revision: ({ version }) => (
          <>
            {version} {version === current?.version && <Badge tone="good">Live</Badge>}
          </>
        ),
        When: (edits) => <Moment at={edits.created_at} />,
        By: ({ author }) => <ActorName actor={author} />,
        Actions: (edits) =>
          edits.version !== current?.version && (
            <OperatorButton
              needs="catalog.write"
              size="small"
              about={`to revision ${edits.version}`}
              dialog={(close) => <RevertDialog chosen={edits} current={current} onClose={close} />}
            >
              Compare or revert
            </OperatorButton>
          ),
      }}
    />
  )
}

function RevertDialog(props: {
  chosen: CatalogEditsView
  current: CatalogEditsView | null
  onClose: () => void
}) {
  const { chosen, current, onClose } = props
  const check = useQuery(checkQuery(chosen.content))
  return (
    <ConfirmDialog
      title={`Revert to revision ${chosen.version}?`}
      wide
      confirm={`Revert to revision ${chosen.version}`}
      kind={check.data?.effects.some(isHarmful) ? 'danger' : 'primary'}
      isReady={check.data?.valid ?? false}
      send={() =>
        requestJson<CatalogEditsApplied>('POST', '/admin/api/catalog/revert', { version: chosen.version })
      }
      stale={['/admin/api']}
      done={({ edits }) => `Reverted (revision ${edits.version}).`}
      onClose={onClose}
    >
      <p>
        The overrides of {formatMoment(chosen.created_at)} are applied again as a new revision, to new calls
        within a second.
      </p>
      <QueryView query={check}>{(view) => <EditEffects check={view} />}</QueryView>
      <details className="disclosure">
        <summary>View JSON diff</summary>
        <DiffView
          before={writeDocument(current?.content ?? {})}
          after={writeDocument(chosen.content)}
          of="Changes by the revert"
        />
      </details>
    </ConfirmDialog>
  )
}
