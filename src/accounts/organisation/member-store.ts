import type { MemberRole } from '../../core/accounts/permissions.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { Account } from '../account-store.ts'

/** An organisation as one of its members has it. */
export interface Membership {
  account: Account
  role: MemberRole
}

/** Who may act on which organisation. Suspended organisations, and so deleted ones, are left out. */
export type MemberStore = ReturnType<typeof createMemberStore>

const LIVE = { account: { state: { not: 'suspended' as const } } }

export function createMemberStore(postgres: Postgres) {
  return {
    /** An organisation that a person may act on; null if they may not. */
    find: (organisationId: string, personId: string): Promise<Membership | null> =>
      postgres.organisationMember.findFirst({
        where: { accountId: organisationId, personId, ...LIVE },
        select: { role: true, account: true },
      }),

    /** The organisations of a person, by name. */
    organisationsOf: (personId: string): Promise<Membership[]> =>
      postgres.organisationMember.findMany({
        where: { personId, ...LIVE },
        select: { role: true, account: true },
        orderBy: [{ account: { name: 'asc' } }, { accountId: 'asc' }],
      }),
  }
}
