import type { AppliedEdits, CatalogEdits, StoredDocument } from '../catalog/catalog-edits-store.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { AuditedAction, Operator, RunAudited } from './audit-log.ts'

export interface AnnouncedEdits {
  document: StoredDocument
  /** False when other processes have yet to receive the edits. */
  announced: boolean
}

/** What operators change in the catalog, recorded in the audit log. Throws ApiError. */
export type CatalogManagement = ReturnType<typeof createCatalogManagement>

export const createCatalogManagement = (edits: CatalogEdits, auditedAction: RunAudited) => ({
  /** Makes a document the operator's edits. `expectedVersion`: the version it was made from; absent: any. */
  applyEdits(operator: Operator, content: unknown, expectedVersion?: string | null): Promise<AnnouncedEdits> {
    const details: AuditedAction['details'] =
      expectedVersion === undefined ? {} : { expected_version: expectedVersion }
    return auditedAction(operator, { action: 'catalog.edit', target: 'catalog', details }, async () =>
      appliedOf(await edits.apply(content, operator.actor, expectedVersion)),
    )
  },

  /** Makes an earlier version of the edits hold again, as a new one. */
  revertEdits(operator: Operator, version: string): Promise<AnnouncedEdits> {
    const action = { action: 'catalog.revert', target: 'catalog', details: { version } }
    return auditedAction(operator, action, async () => {
      const applied = await edits.revert(version, operator.actor)
      if (!applied) throw new ApiError('not_found', 'There is no such revision of the overrides.')
      return appliedOf(applied)
    })
  },
})

const PROBLEMS_SHOWN = 20

function appliedOf(applied: AppliedEdits): AnnouncedEdits {
  switch (applied.kind) {
    case 'applied':
      return applied
    case 'problems': {
      const shown = applied.problems.slice(0, PROBLEMS_SHOWN).join('\n')
      throw new ApiError('invalid_request', `The catalog would not be valid:\n${shown}`, {
        param: 'content',
        metadata: { problems: applied.problems.length },
      })
    }
    case 'conflict':
      throw new ApiError('conflict', 'Somebody else edited the catalog meanwhile. Look at it again.', {
        metadata: { current_version: applied.current ?? '' },
      })
    default:
      return applied satisfies never
  }
}
