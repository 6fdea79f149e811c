import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { CatalogEditsApplied, CatalogEditsView } from '../../../../src/core/api/catalog.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { messageOf, requestJson } from '../../../api/request.ts'
import { Badge } from '../../../components/badge.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { DialogBox } from '../../../components/dialog-box.tsx'
import { Note } from '../../../components/note.tsx'
import { showToast } from '../../../components/toasts.tsx'
import { writeDocument } from '../../../lib/catalog-edits.ts'
import { formatMoment } from '../../../lib/dates.ts'
import { DiffView } from './diff-view.tsx'

interface EditsHistoryProps {
  versions: readonly CatalogEditsView[]
  current: CatalogEditsView | null
}

/** Every version of the edits, and the way back to each. */
export function EditsHistory({ versions, current }: EditsHistoryProps) {
  const [chosen, setChosen] = useState<CatalogEditsView | null>(null)
  if (versions.length === 0)
    return <p className="panel-body muted">No edits yet. Each that is applied is kept here as a version.</p>
  return (
    <>
      <DataTable
        caption="Versions of the edits, newest first"
        rows={versions}
        rowKey={({ version }) => version}
        columns={[
          {
            header: 'Version',
            title: true,
            cell: ({ version }) => (
              <>
                {version} {version === current?.version && <Badge tone="good">holds</Badge>}
              </>
            ),
          },
          { header: 'When', cell: (edits) => formatMoment(edits.created_at) },
          { header: 'By', cell: ({ author }) => <code className="small anywhere">{author}</code> },
          {
            header: 'Actions',
            numeric: true,
            cell: (edits) =>
              edits.version !== current?.version && (
                <button type="button" className="button button-small" onClick={() => setChosen(edits)}>
                  Compare or revert<span className="visually-hidden"> to version {edits.version}</span>
                </button>
              ),
          },
        ]}
      />
      <RevertDialog chosen={chosen} current={current} onClose={() => setChosen(null)} />
    </>
  )
}

function RevertDialog(props: {
  chosen: CatalogEditsView | null
  current: CatalogEditsView | null
  onClose: () => void
}) {
  const { chosen, current, onClose } = props
  const client = useQueryClient()
  const revert = useMutation({
    mutationFn: (version: string) =>
      requestJson<CatalogEditsApplied>('POST', `${OPERATOR_API}/catalog/revert`, { body: { version } }),
    onSuccess: ({ edits }) => {
      void client.invalidateQueries({ queryKey: ['operator'] })
      showToast(`They hold again, as version ${edits.version}.`)
      onClose()
    },
  })
  const close = () => {
    revert.reset()
    onClose()
  }
  return (
    <DialogBox
      title={`Revert to version ${chosen?.version ?? ''}?`}
      className="dialog-wide"
      isOpen={chosen !== null}
      onClose={close}
      role="alertdialog"
    >
      {chosen && (
        <>
          <p>
            The edits of {formatMoment(chosen.created_at)} hold again for new calls within a second, as a new
            version. This is what changes:
          </p>
          <DiffView
            before={writeDocument(current?.content ?? {})}
            after={writeDocument(chosen.content)}
            of="What the way back changes"
          />
          {revert.error && (
            <Note tone="bad" announce>
              <span className="pre-line">{messageOf(revert.error)}</span>
            </Note>
          )}
          <div className="dialog-foot">
            <button type="button" className="button" onClick={close}>
              Cancel
            </button>
            <button
              type="button"
              className="button button-danger"
              disabled={revert.isPending}
              onClick={() => revert.mutate(chosen.version)}
            >
              {revert.isPending ? 'Working …' : `Revert to version ${chosen.version}`}
            </button>
          </div>
        </>
      )}
    </DialogBox>
  )
}
