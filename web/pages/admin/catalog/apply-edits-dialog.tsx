import type { ReactNode } from 'react'
import type {
  CatalogEditsApplied,
  CatalogEditsRequest,
  CatalogEditsView,
} from '../../../../src/core/api/catalog.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { ConfirmDialog } from '../../../components/feedback/confirm-dialog.tsx'
import { type CatalogContent, writeDocument } from '../../../lib/catalog-edits.ts'
import { DiffView } from './diff-view.tsx'

/** Edits to be applied over the current ones. */
export interface ProposedEdits {
  content: CatalogContent
  title: string
  /** What will change for calls, in words. */
  what: ReactNode
}

/** Shows what edits change, and applies them after they are confirmed. */
export function ApplyEditsDialog(props: {
  proposed: ProposedEdits
  /** The edits that the proposal was made from; null: there were none. */
  from: CatalogEditsView | null
  onClose: () => void
  onApplied?: (applied: CatalogEditsApplied) => void
}) {
  const { proposed, from, onClose, onApplied } = props
  const body: CatalogEditsRequest = { content: proposed.content, expected_version: from?.version ?? null }
  return (
    <ConfirmDialog
      title={proposed.title}
      wide
      confirm="Apply"
      send={() => requestJson<CatalogEditsApplied>('POST', `${OPERATOR_API}/catalog/edits`, { body })}
      stale={[['operator'], ['pricing']]}
      done={({ edits, announced }) =>
        `Version ${edits.version} of the edits is saved; it applies ${
          announced ? 'everywhere within a second' : 'as each process receives it'
        }.`
      }
      onDone={onApplied}
      onClose={onClose}
    >
      {proposed.what}
      <DiffView
        before={writeDocument(from?.content ?? {})}
        after={writeDocument(proposed.content)}
        of="What changes in the document of edits"
      />
    </ConfirmDialog>
  )
}
