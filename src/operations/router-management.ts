import type { CheckedCatalog } from '../catalog/catalog-check.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { RouterVersions } from '../routing/learning/version-store.ts'
import type { Operator, RunAudited } from './audit-log.ts'

/** Operators' choice of the router's version, recorded in the audit log. Throws ApiError. */
export const createRouterManagement = (
  versions: Pick<RouterVersions, 'find' | 'install' | 'rollback'>,
  auditedAction: RunAudited,
  /** Whether a document can be applied to the current catalog. */
  check: (content: unknown) => CheckedCatalog,
) => ({
  /** Makes a learned version apply in the whole fleet, without a restart. */
  async install(operator: Operator, id: string): Promise<void> {
    const action = { action: 'router.install', target: 'router', details: { version: id } }
    await auditedAction(operator, action, async () => {
      const version = await versions.find(id)
      if (!version) throw new ApiError('not_found', 'The router has no such version.')
      const checked = check(version.content)
      if (checked.kind === 'problems')
        throw new ApiError(
          'conflict',
          `This version no longer fits the catalog: ${checked.problems.join('; ')}`,
        )
      await versions.install(id)
    })
  },

  /** Makes the version that was installed before apply again; without one, the shipped router. Resolves to it. */
  rollback: (operator: Operator): Promise<string | null> =>
    auditedAction(operator, { action: 'router.rollback', target: 'router', details: {} }, () =>
      versions.rollback(),
    ),
})
