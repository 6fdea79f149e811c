import { useState } from 'react'
import type { CatalogEditsApplied, CatalogEditsView } from '../../../../src/core/api/catalog.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { ConfirmDialog } from '../../../components/feedback/confirm-dialog.tsx'
import { Button } from '../../../components/form/button.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Badge } from '../../../components/text/values.tsx'
import { writeDocument } from '../../../lib/catalog-edits.ts'
import { formatMoment } from '../../../lib/format.ts'
import { DiffView } from './diff-view.tsx'

/** Every version of the edits; each can be reverted to. */
export function EditsHistory(props: {
  versions: readonly CatalogEditsView[]
  current: CatalogEditsView | null
}) {
  const { versions, current } = props
  const [chosen, setChosen] = useState<CatalogEditsView | null>(null)
  return (
    <>
      <DataTable
        caption="Versions of the edits, newest first"
        rows={versions}
        rowKey={({ version }) => version}
        empty="No edits yet. Each version that is applied is kept here."
        columns={{
          Version: ({ version }) => (
            <>
              {version} {version === current?.version && <Badge tone="good">current</Badge>}
            </>
          ),
          When: (edits) => formatMoment(edits.created_at),
          By: ({ author }) => <code className="small anywhere">{author}</code>,
          Actions: (edits) =>
            edits.version !== current?.version && (
              <Button size="small" about={`to version ${edits.version}`} onClick={() => setChosen(edits)}>
                Compare or revert
              </Button>
            ),
        }}
        numeric={['Actions']}
      />
      {chosen && <RevertDialog chosen={chosen} current={current} onClose={() => setChosen(null)} />}
    </>
  )
}

function RevertDialog(props: {
  chosen: CatalogEditsView
  current: CatalogEditsView | null
  onClose: () => void
}) {
  const { chosen, current, onClose } = props
  const body = { version: chosen.version }
  return (
    <ConfirmDialog
      title={`Revert to version ${chosen.version}?`}
      wide
      confirm={`Revert to version ${chosen.version}`}
      send={() => requestJson<CatalogEditsApplied>('POST', `${OPERATOR_API}/catalog/revert`, { body })}
      stale={[['operator']]}
      done={({ edits }) => `The edits apply again, as version ${edits.version}.`}
      onClose={onClose}
    >
      <p>
        The edits of {formatMoment(chosen.created_at)} apply to new calls again within a second, as a new
        version. This is what changes:
      </p>
      <DiffView
        before={writeDocument(current?.content ?? {})}
        after={writeDocument(chosen.content)}
        of="What the revert changes"
      />
    </ConfirmDialog>
  )
}
