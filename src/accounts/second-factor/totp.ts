import { Secret, TOTP } from 'otpauth'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { Sealer } from '../../platform/sealing.ts'

export const TOTP_PURPOSE = 'totp-secret'

/** A code is valid for half a minute; the previous and the next are accepted too, because clocks differ. */
const PERIOD_SECONDS = 30
const WINDOW = 1
const SECRET_BYTES = 20

/** One-time codes of an authenticator app (RFC 6238). The secret is sealed; a code is accepted once. */
export type TotpStore = ReturnType<typeof createTotpStore>

/** Fails if another request used the same or a later step. */
const TAKE_STEP = `
UPDATE account_totp SET last_step = $2::bigint, confirmed_at = coalesce(confirmed_at, now())
WHERE account_id = $1 AND last_step < $2::bigint AND ($3::boolean OR confirmed_at IS NOT NULL)`

export function createTotpStore(postgres: Postgres, sealer: Sealer, clock: () => number) {
  const codesOf = (secret: Secret, label = '') =>
    new TOTP({ issuer: 'Shuntyard', label, secret, algorithm: 'SHA1', digits: 6, period: PERIOD_SECONDS })

  const take = async (accountId: string, code: string, isFirst: boolean): Promise<boolean> => {
    const row = await postgres.accountTotp.findUnique({ where: { accountId } })
    if (!row) return false
    const secret = Secret.fromBase32(sealer.open(row.secretSealed, accountId))
    const timestamp = clock()
    const delta = codesOf(secret).validate({ token: code, timestamp, window: WINDOW })
    if (delta === null) return false
    const step = BigInt(Math.floor(timestamp / 1_000 / PERIOD_SECONDS) + delta)
    return (await postgres.$executeRawUnsafe(TAKE_STEP, accountId, step, isFirst)) === 1
  }

  return {
    /** Starts the setup of an app, or restarts an unfinished one. Null if the account has one. */
    async begin(accountId: string, email: string): Promise<{ secret: string; uri: string } | null> {
      const secret = new Secret({ size: SECRET_BYTES })
      const secretSealed = sealer.seal(secret.base32, accountId)
      await postgres.accountTotp.deleteMany({ where: { accountId, confirmedAt: null } })
      const { count } = await postgres.accountTotp.createMany({
        data: { accountId, secretSealed },
        skipDuplicates: true,
      })
      return count === 0 ? null : { secret: secret.base32, uri: codesOf(secret, email).toString() }
    },

    /** Accepts the first code of a new app; sign-in requires a code from then on. */
    confirm: (accountId: string, code: string): Promise<boolean> => take(accountId, code, true),

    /** Accepts a code at sign-in. */
    take: (accountId: string, code: string): Promise<boolean> => take(accountId, code, false),

    async has(accountId: string): Promise<boolean> {
      return (await postgres.accountTotp.count({ where: { accountId, confirmedAt: { not: null } } })) > 0
    },

    async remove(accountId: string): Promise<boolean> {
      const { count } = await postgres.accountTotp.deleteMany({ where: { accountId } })
      return count > 0
    },
  }
}
