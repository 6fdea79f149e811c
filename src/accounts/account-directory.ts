import type { Postgres } from '../platform/postgres/postgres.ts'
import type { Account } from './account-store.ts'

/** An account as operators look it up. */
export type ListedAccount = Account & { owedPico: bigint }

/** A suspension by money that went back; amounts in pico-USD. */
export interface ListedSuspension {
  id: string
  paymentId: string
  reason: string
  shortfallPico: bigint
  createdAt: Date
}

export interface AccountDirectory {
  /** Newest first, after an account's id; those whose email contains the text or whose id it is, or all. */
  page(query: { search: string | null; after: string | null; limit: number }): Promise<ListedAccount[]>
  /** By id or by email; null when there is none. */
  find(idOrEmail: string): Promise<ListedAccount | null>
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

/** Prisma passes the wildcards of LIKE through. */
const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')
