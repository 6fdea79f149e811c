import { newId } from '../core/kernel/ids.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { OperatorAction as ActionRow } from '../platform/prisma-client/client.ts'

export interface NewOperatorAction {
  /** An admin key's id, or an operator's account. */
  actor: string
  /** `account.suspend`, `key.revoke`, … */
  action: string
  /** The id of what it is done to. */
  target: string
  /** `asked` before the deed, `failed` after one that was refused or broke. */
  outcome: 'asked' | 'failed'
  details: Record<string, string | number | boolean | null>
  requestId: string
}

export type OperatorAction = ActionRow

/** Who did what: append-only. */
export interface OperatorActionStore {
  record(action: NewOperatorAction): Promise<void>
  /** Newest first, after an action's id; of one target, or all. */
  page(query: { target: string | null; after: string | null; limit: number }): Promise<OperatorAction[]>
}

export function createOperatorActionStore(postgres: Postgres): OperatorActionStore {
  return {
    async record(action) {
      await postgres.operatorAction.create({ data: { id: newId('act'), ...action } })
    },
    page: ({ target, after, limit }) =>
      postgres.operatorAction.findMany({
        where: { ...(target !== null && { target }), ...(after !== null && { id: { lt: after } }) },
        orderBy: { id: 'desc' },
        take: limit,
      }),
  }
}
