import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type {
  CatalogEditsApplied,
  CatalogEditsRequest,
  CatalogEditsView,
} from '../../../../src/core/api/catalog.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { messageOf, requestJson } from '../../../api/request.ts'
import { DialogBox } from '../../../components/dialog-box.tsx'
import { Note } from '../../../components/note.tsx'
import { showToast } from '../../../components/toasts.tsx'
import { type CatalogContent, writeDocument } from '../../../lib/catalog-edits.ts'
import { DiffView } from './diff-view.tsx'

/** Edits to be applied over those that hold. */
export interface ProposedEdits {
  content: CatalogContent
  title: string
  /** What will be different for calls, in words. */
  what: ReactNode
}

interface ApplyEditsDialogProps {
  /** Null: closed. */
  proposed: ProposedEdits | null
  /** The edits that the proposal was made from; null: there were none. */
  from: CatalogEditsView | null
  onClose: () => void
  onApplied?: (applied: CatalogEditsApplied) => void
}

/** Shows what edits change, and applies them after that was confirmed. */
export function ApplyEditsDialog({ proposed, from, onClose, onApplied }: ApplyEditsDialogProps) {
  const client = useQueryClient()
  const apply = useMutation({
    mutationFn: (body: CatalogEditsRequest) =>
      requestJson<CatalogEditsApplied>('POST', `${OPERATOR_API}/catalog/edits`, { body }),
    onSuccess: (applied) => {
      void client.invalidateQueries({ queryKey: ['operator'] })
      void client.invalidateQueries({ queryKey: ['pricing'] })
      const where = applied.announced ? 'hold everywhere within a second' : 'will reach every process'
      showToast(`Version ${applied.edits.version} of the edits is kept; they ${where}.`)
      onApplied?.(applied)
      onClose()
    },
  })
  const close = () => {
    apply.reset()
    onClose()
  }
  return (
    <DialogBox
      title={proposed?.title ?? ''}
      className="dialog-wide"
      isOpen={proposed !== null}
      onClose={close}
      role="alertdialog"
    >
      {proposed && (
        <>
          <div>{proposed.what}</div>
          <DiffView
            before={writeDocument(from?.content ?? {})}
            after={writeDocument(proposed.content)}
            of="What changes in the document of edits"
          />
          {apply.error && (
            <Note tone="bad" announce>
              <span className="pre-line">{messageOf(apply.error)}</span>
            </Note>
          )}
          <div className="dialog-foot">
            <button type="button" className="button" onClick={close}>
              Cancel
            </button>
            <button
              type="button"
              className="button button-danger"
              disabled={apply.isPending}
              onClick={() =>
                apply.mutate({ content: proposed.content, expected_version: from?.version ?? null })
              }
            >
              {apply.isPending ? 'Applying …' : 'Apply'}
            </button>
          </div>
        </>
      )}
    </DialogBox>
  )
}
