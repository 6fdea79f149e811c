import type { CheckedCatalog } from '../catalog/catalog-check.ts'
import type { CatalogEdits, StoredDocument } from '../catalog/catalog-edits-store.ts'
import type { CatalogEffect } from '../core/catalog/catalog-effects.ts'
import { documentChanges } from '../core/catalog/document-changes.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { AuditedAction, Operator, RunAudited } from './audit-log.ts'

export interface AnnouncedEdits {
  document: StoredDocument
  /** False if other processes do not have the edits yet. */
  announced: boolean
}

/** Larger than a catalog of tens of thousands of models. */
const CONTENT_MAX_BYTES = 8 * 1024 * 1024

/** Operators' changes of the catalog, recorded in the audit log. Throws ApiError. */
export type CatalogManagement = ReturnType<typeof createCatalogManagement>

export function createCatalogManagement(
  edits: CatalogEdits,
  auditedAction: RunAudited,
  catalog: {
    /** Whether a document can be applied to the current catalog. */
    check: (content: unknown) => CheckedCatalog
    /** The effects of edits on calls. May throw for invalid edits. */
    preview?: (content: unknown) => readonly CatalogEffect[]
    /** Reloads the applied edits in this process. Never rejects. */
    adopt?: () => Promise<void>
  },
) {
  const check = (content: unknown): CheckedCatalog => {
    if (Buffer.byteLength(JSON.stringify(content) ?? '') > CONTENT_MAX_BYTES)
      return { kind: 'problems', problems: [`the document is larger than ${CONTENT_MAX_BYTES} bytes`] }
    const checked = catalog.check(content)
    if (checked.kind === 'problems' || checked.unknown.length === 0) return checked
    return { kind: 'problems', problems: checked.unknown }
  }

  const apply = async (operator: Operator, content: unknown, expectedVersion?: string | null) => {
    const checked = check(content)
    if (checked.kind === 'problems') throw notValid(checked.problems)
    const stored = await edits.store(content, operator.actor, expectedVersion)
    if (stored.kind === 'conflict')
      throw new ApiError('conflict', 'Another operator has edited the catalog. Reload it and try again.', {
        metadata: { current_version: stored.current ?? '' },
      })
    await catalog.adopt?.()
    return stored
  }

  /** The effects of a document and the values that it changes, for the audit log. */
  const detailsOf = async (content: unknown): Promise<AuditedAction['details']> => ({
    ...effectDetails(() => catalog.preview?.(content) ?? []),
    ...changeDetails((await edits.current())?.content, content),
  })

  return {
    /** Checks a document as the operators' edits: it is valid, and every entry that it changes exists. */
    check,

    /** Applies a document as the operators' edits. `expectedVersion`: the version it is based on; absent: any. */
    async applyEdits(
      operator: Operator,
      content: unknown,
      expectedVersion?: string | null,
    ): Promise<AnnouncedEdits> {
      const action = { action: 'catalog.edit', target: 'catalog', details: await detailsOf(content) } as const
      return auditedAction(operator, action, () => apply(operator, content, expectedVersion))
    },

    /** Applies an earlier version of the edits again, as a new one. */
    async revertEdits(operator: Operator, version: string): Promise<AnnouncedEdits> {
      const earlier = await edits.find(version)
      const details = { version, ...(earlier && (await detailsOf(earlier.content))) }
      return auditedAction(operator, { action: 'catalog.revert', target: 'catalog', details }, async () => {
        if (!earlier) throw new ApiError('not_found', 'There is no such revision of the overrides.')
        return apply(operator, earlier.content)
      })
    },
  }
}

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

function notValid(problems: string[]): ApiError {
  const shown = problems.slice(0, PROBLEMS_SHOWN).join('\n')
  return new ApiError('invalid_request', `The catalog would not be valid:\n${shown}`, {
    param: 'content',
    metadata: { problems: problems.length },
  })
}
