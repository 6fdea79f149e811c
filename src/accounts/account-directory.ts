import { type IdPage, newestFirst, type Postgres } from '../platform/postgres/postgres.ts'
import type { AccountSuspension } from '../platform/prisma-client/client.ts'
import type { Account } from './account-store.ts'

export type ListedSuspension = AccountSuspension

export type AccountDirectory = ReturnType<typeof createAccountDirectory>

/** Accounts for operators, over PostgreSQL. A search by email reads the whole table. */
export function createAccountDirectory(postgres: Postgres) {
  return {
    /** Newest first, after an account's id; filtered by a part of the email or by id, or all. */
    page: ({ search, ...page }: { search: string | null } & IdPage): Promise<Account[]> =>
      postgres.account.findMany(
        newestFirst(page, {
          ...(search !== null && {
            OR: [{ id: search }, { email: { contains: escapeLike(search), mode: 'insensitive' as const } }],
          }),
        }),
      ),

    /** By id or email; null if there is none. */
    find: (idOrEmail: string): Promise<Account | null> =>
      postgres.account.findFirst({ where: { OR: [{ id: idOrEmail }, { email: idOrEmail }] } }),

    /** Because of refunds and disputes; newest first. */
    suspensions: (accountId: string, limit: number): Promise<ListedSuspension[]> =>
      postgres.accountSuspension.findMany({
        where: { accountId },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit,
      }),
  }
}

/** Prisma does not escape the wildcards of LIKE. */
const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')
