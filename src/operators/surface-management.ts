import type { AccountDirectory } from '../accounts/account-store.ts'
import type { KeyStore } from '../accounts/key-store.ts'
import { SURFACES, type Surface } from '../core/api/surfaces/surface-registry.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'
import type { AuditLog, Operator } from './audit-log.ts'
import type { StoredSurfaceGrant, SurfaceGrantStore, SurfaceHolder } from './surface-grant-store.ts'

/** A surface that can be granted, with the grants of an account and its keys. */
export interface GrantableSurface extends Surface {
  /** `openedBy`: the actor in the audit log; null if unknown. */
  grants: Array<StoredSurfaceGrant & { openedBy: string | null }>
}

/** The target of a grant to all accounts in the audit log. */
const EVERY_ACCOUNT = 'every account'

const holderOf = ({ keyId, accountId }: Pick<StoredSurfaceGrant, 'keyId' | 'accountId'>) =>
  keyId ?? accountId ?? EVERY_ACCOUNT

export type SurfaceManagement = ReturnType<typeof createSurfaceManagement>

/** Grants surfaces to accounts, keys and all accounts, and revokes grants. Every change is recorded in the audit log. Throws ApiError. */
export function createSurfaceManagement(options: {
  grants: SurfaceGrantStore
  directory: Pick<AccountDirectory, 'find'>
  keys: Pick<KeyStore, 'find'>
  announce: (change: KeyChange) => Promise<void>
  auditLog: Pick<AuditLog, 'auditedAction' | 'latest'>
}) {
  const { grants, directory, keys, announce, auditLog } = options

  const change = <T>(
    operator: Operator,
    verb: 'open' | 'close',
    surface: Surface,
    holder: SurfaceHolder,
    work: () => Promise<T>,
  ): Promise<T> => {
    const target = 'keyId' in holder ? holder.keyId : 'accountId' in holder ? holder.accountId : EVERY_ACCOUNT
    const action = { action: `surface.${verb}`, target, details: { surface: surface.id } }
    return auditLog.auditedAction(operator, action, async () => {
      const done = await work()
      // Without the announcement instances learn of it late, so its failure fails the action, which can be repeated.
      await announce(holder)
      return done
    })
  }

  return {
    /** An account by id or email, a key by id, or all accounts. */
    async findHolder(named: {
      account?: string
      keyId?: string
      everyAccount?: boolean
    }): Promise<SurfaceHolder> {
      const { account, keyId, everyAccount = false } = named
      if (Number(account !== undefined) + Number(keyId !== undefined) + Number(everyAccount) !== 1)
        throw new ApiError('invalid_request', 'Name either an account or a key, or every account.')
      if (everyAccount) return { everyAccount }
      if (keyId === undefined) {
        const found = await directory.find(account!)
        if (!found) throw new ApiError('not_found', 'There is no such account.')
        return { accountId: found.id }
      }
      const key = await keys.find(keyId)
      if (!key) throw new ApiError('not_found', 'There is no such key.')
      if (key.kind === 'admin')
        throw new ApiError('invalid_request', 'Admin keys cannot use surfaces of accounts.')
      return { keyId }
    },

    /** Idempotent; applied everywhere within a second. */
    async open(operator: Operator, surfaceId: string, holder: SurfaceHolder): Promise<StoredSurfaceGrant> {
      const surface = surfaceOf(surfaceId)
      if (surface.access !== 'granted')
        throw new ApiError(
          'invalid_request',
          surface.access === 'open'
            ? `Every key may use ${surface.id}.`
            : `${surface.id} cannot be opened: it has no handler.`,
        )
      return change(operator, 'open', surface, holder, () => grants.open(surface.id, holder))
    },

    /** 404 if it was not granted to this holder; applied everywhere within a second. */
    async close(operator: Operator, surfaceId: string, holder: SurfaceHolder): Promise<StoredSurfaceGrant> {
      const surface = surfaceOf(surfaceId)
      return change(operator, 'close', surface, holder, async () => {
        const closed = await grants.close(surface.id, holder)
        if (!closed) throw new ApiError('not_found', `${surface.id} was not open to it.`)
        return closed
      })
    },

    list: grants.list,

    /** All surfaces that can be granted, with the grants that an account and its keys have, and their authors. */
    async listOfAccount(accountId: string): Promise<GrantableSurface[]> {
      const held = await grants.listOfAccount(accountId)
      const opened = await auditLog.latest('surface.open', [...new Set(held.map(holderOf))])
      const granted = held.map((grant) => {
        // A repeated grant keeps the first row; the action that created it was recorded right before it.
        const made = opened.find(
          ({ target, at, details }) =>
            target === holderOf(grant) &&
            at <= grant.createdAt &&
            (details as { surface?: string } | null)?.surface === grant.surface,
        )
        return { ...grant, openedBy: made?.actor ?? null }
      })
      return SURFACES.filter(({ access }) => access === 'granted').map((surface) => ({
        ...surface,
        grants: granted.filter((grant) => grant.surface === surface.id),
      }))
    },
  }
}

function surfaceOf(id: string): Surface {
  const surface = SURFACES.find((known) => known.id === id)
  if (surface) return surface
  const granted = SURFACES.filter(({ access }) => access === 'granted').map((known) => known.id)
  throw new ApiError('not_found', `There is no surface ${id}. Surfaces to open: ${granted.join(', ')}.`)
}
