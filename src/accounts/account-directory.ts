import type { Postgres } from '../platform/postgres/postgres.ts'
import type { Account } from './account-store.ts'

/** A suspension because of a refund or dispute; amounts in pico-USD. */
export interface ListedSuspension {
  id: string
  paymentId: string
  reason: string
  shortfallPico: bigint
  createdAt: Date
}

export interface AccountDirectory {
  /** Newest first, after an account's id; filtered by a part of the email or by id, or all. */
  page(query: { search: string | null; after: string | null; limit: number }): Promise<Account[]>
  /** By id or email; null if there is none. */
  find(idOrEmail: string): Promise<Account | null>
  /** Newest first, at most `limit`. */
  suspensions(accountId: string, limit: number): Promise<ListedSuspension[]>
}

/** Accounts for operators, over PostgreSQL. A search by email reads the whole table. */
export function createAccountDirectory(postgres: Postgres): AccountDirectory {
  return {
    page: ({ search, after, limit }) =>
      postgres.account.findMany({
        where: {
          ...(after !== null && { id: { lt: after } }),
          ...(search !== null && {
            OR: [{ id: search }, { email: { contains: escapeLike(search), mode: 'insensitive' } }],
          }),
        },
        orderBy: { id: 'desc' },
        take: limit,
      }),
    find: (idOrEmail) =>
      postgres.account.findFirst({ where: { OR: [{ id: idOrEmail }, { email: idOrEmail }] } }),
    suspensions: (accountId, limit) =>
      postgres.accountSuspension.findMany({
        where: { accountId },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit,
      }),
  }
}

/** Prisma does not escape the wildcards of LIKE. */
const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')
