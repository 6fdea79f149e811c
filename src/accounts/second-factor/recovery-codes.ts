import { createHash, randomInt } from 'node:crypto'
import type { Postgres } from '../../platform/postgres/postgres.ts'

const CODES = 10
/** Without 0, o, 1, i and l, which people confuse. A code has 16 of 31 letters: 79 bits. */
const LETTERS = '23456789abcdefghjkmnpqrstuvwxyz'
const GROUPS = 4
const GROUP_LENGTH = 4

/** Single-use codes that replace a second factor. They are random, so a plain hash is sufficient. */
export type RecoveryCodes = ReturnType<typeof createRecoveryCodes>

export function createRecoveryCodes(postgres: Postgres) {
  return {
    /** Replaces all codes; returned only once. */
    async replace(accountId: string): Promise<string[]> {
      const codes = Array.from({ length: CODES }, newCode)
      await postgres.$transaction([
        postgres.recoveryCode.deleteMany({ where: { accountId } }),
        postgres.recoveryCode.createMany({
          data: codes.map((code) => ({ accountId, codeHash: hashOf(code) })),
        }),
      ])
      return codes
    },

    /** Uses a code; false if it is invalid. */
    async take(accountId: string, code: string): Promise<boolean> {
      const { count } = await postgres.recoveryCode.deleteMany({
        where: { accountId, codeHash: hashOf(code) },
      })
      return count > 0
    },

    left: (accountId: string): Promise<number> => postgres.recoveryCode.count({ where: { accountId } }),

    async remove(accountId: string): Promise<void> {
      await postgres.recoveryCode.deleteMany({ where: { accountId } })
    },
  }
}

const newCode = (): string =>
  Array.from({ length: GROUPS }, () =>
    Array.from({ length: GROUP_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join(''),
  ).join('-')

/** Ignores case, spaces and hyphens. */
const hashOf = (code: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(createHash('sha256').update(code.toLowerCase().replace(/[\s-]/g, '')).digest())
