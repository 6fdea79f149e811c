import type { AppliedEdits, CatalogEdits, StoredDocument } from '../catalog/catalog-edits-store.ts'
import type { CatalogEffect } from '../core/catalog/catalog-effects.ts'
import { documentChanges } from '../core/catalog/document-changes.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { AuditedAction, Operator, RunAudited } from './audit-log.ts'

export interface AnnouncedEdits {
  document: StoredDocument
  /** False if other processes do not have the edits yet. */
  announced: boolean
}

/** Operators' changes of the catalog, recorded in the audit log. Throws ApiError. */
export type CatalogManagement = ReturnType<typeof createCatalogManagement>

export const createCatalogManagement = (
  edits: CatalogEdits,
  auditedAction: RunAudited,
  catalog: {
    /** The effects of edits on calls. May throw for invalid edits. */
    preview?: (content: unknown) => readonly CatalogEffect[]
    /** Reloads the applied edits in this process. Never rejects. */
    adopt?: () => Promise<void>
  } = {},
) => ({
  /** Applies a document as the operator's edits. `expectedVersion`: the version it is based on; absent: any. */
  async applyEdits(
    operator: Operator,
    content: unknown,
    expectedVersion?: string | null,
  ): Promise<AnnouncedEdits> {
    const details: AuditedAction['details'] = {
      ...effectDetails(() => catalog.preview?.(content) ?? []),
      ...changeDetails((await edits.current())?.content, content),
    }
    return auditedAction(operator, { action: 'catalog.edit', target: 'catalog', details }, async () => {
      const applied = appliedOf(await edits.apply(content, operator.actor, expectedVersion))
      await catalog.adopt?.()
      return applied
    })
  },

  /** Applies an earlier version of the edits again, as a new one. */
  async revertEdits(operator: Operator, version: string): Promise<AnnouncedEdits> {
    const [current, earlier] = await Promise.all([edits.current(), edits.find(version)])
    const details: AuditedAction['details'] = {
      version,
      ...effectDetails(() => (earlier && catalog.preview?.(earlier.content)) ?? []),
      ...(earlier && changeDetails(current?.content, earlier.content)),
    }
    const action = { action: 'catalog.revert', target: 'catalog', details }
    return auditedAction(operator, action, async () => {
      const applied = await edits.revert(version, operator.actor)
      if (!applied) throw new ApiError('not_found', 'There is no such revision of the overrides.')
      const document = appliedOf(applied)
      await catalog.adopt?.()
      return document
    })
  },
})

const EFFECTS_RECORDED = 5
const CHANGES_RECORDED = 50
const CHANGE_LENGTH_MAX = 500

/** The values that edits change, for the audit log. */
function changeDetails(before: unknown, after: unknown): { changes: string[] } {
  const changes = documentChanges(before, after)
  const shown = changes.slice(0, CHANGES_RECORDED).map((change) => change.slice(0, CHANGE_LENGTH_MAX))
  const more = changes.length - shown.length
  return { changes: more > 0 ? [...shown, `${more} more`] : shown }
}

/** The effects of edits, for the audit log; none if they are invalid. */
function effectDetails(preview: () => readonly CatalogEffect[]): { effects?: string } {
  let effects: readonly CatalogEffect[]
  try {
    effects = preview()
  } catch {
    // Applying the edits reports their problems.
    return {}
  }
  if (effects.length === 0) return {}
  const shown = effects.slice(0, EFFECTS_RECORDED).map(({ message }) => message)
  const more = effects.length - shown.length
  return { effects: [...shown, ...(more > 0 ? [`${more} more`] : [])].join('; ') }
}

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
      throw new ApiError('conflict', 'Another operator has edited the catalog. Reload it and try again.', {
        metadata: { current_version: applied.current ?? '' },
      })
    default:
      return applied satisfies never
  }
}
