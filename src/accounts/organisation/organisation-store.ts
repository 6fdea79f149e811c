import { ApiError } from '../../core/kernel/errors.ts'
import { newId } from '../../core/kernel/ids.ts'
import type { PicoUsd } from '../../core/kernel/money.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { Account } from '../account-store.ts'

/** Maximum organisations owned by one person. */
const OWNED_MAX = 20

/** The lock on the person's row serializes counting. */
const LOCK_PERSON = 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE'

export type OrganisationStore = ReturnType<typeof createOrganisationStore>

/** `lowBalancePico` is the threshold of new organisations. */
export function createOrganisationStore(postgres: Postgres, lowBalancePico: PicoUsd) {
  return {
    /** Opens an organisation without credit, owned by the person. Throws ApiError at the maximum. */
    create: (name: string, personId: string): Promise<Account> =>
      postgres.$transaction(async (transaction) => {
        await transaction.$queryRawUnsafe(LOCK_PERSON, personId)
        const where = { personId, role: 'owner' as const, account: { deletedAt: null } }
        if ((await transaction.organisationMember.count({ where })) >= OWNED_MAX)
          throw new ApiError('conflict', `One person can own at most ${OWNED_MAX} organisations.`)
        const id = newId('acct')
        const account = await transaction.account.create({
          data: { id, name, state: 'exhausted', lowBalancePico },
        })
        await transaction.organisationMember.create({ data: { accountId: id, personId, role: 'owner' } })
        return account
      }),

    /** By name. */
    list: (): Promise<Account[]> =>
      postgres.account.findMany({
        where: { name: { not: null }, deletedAt: null },
        orderBy: [{ name: 'asc' }, { id: 'asc' }],
      }),

    rename: (accountId: string, name: string): Promise<Account> =>
      postgres.account.update({ where: { id: accountId }, data: { name } }),
  }
}
