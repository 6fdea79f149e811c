import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import { hashOfToken, isToken, newToken } from './secret-token.ts'

/** The stored data of each step, by its purpose. */
export interface StepData {
  /** The first factor was right; a second one is required. `challenge`: for a passkey, if the account has one. */
  second_factor: { passwordHash: string | null; email: string; challenge: string | null }
  /** A passkey is requested without naming an account. */
  passkey: { challenge: string }
  /** The browser was sent to an identity provider. With an account: to link an identity to it. */
  oauth: { provider: string; next: string | null; verifier: string; state: string; nonce: string }
  /** An operator's browser was sent to the single sign-on provider. */
  operator_sign_in: { next: string | null; verifier: string; state: string; nonce: string }
  /** The signed-in person adds a passkey. */
  new_passkey: { challenge: string }
}
export type StepPurpose = keyof StepData

export interface SignInStep<Purpose extends StepPurpose> {
  accountId: string | null
  data: StepData[Purpose]
}

const VALID_MS = 10 * 60_000
/** Maximum steps of one account; a further one ends the oldest. */
const STEPS_PER_ACCOUNT_MAX = 20

const TIDY = `
DELETE FROM sign_in_steps WHERE token_hash IN (
  (SELECT token_hash FROM sign_in_steps WHERE expires_at < now() LIMIT 100)
  UNION ALL
  (SELECT token_hash FROM sign_in_steps WHERE account_id = $1 ORDER BY expires_at DESC OFFSET ${STEPS_PER_ACCOUNT_MAX - 1})
)`

/** The state between two requests of one sign-in. The page has a token, and only its hash is stored. */
export type SignInSteps = ReturnType<typeof createSignInSteps>

export function createSignInSteps(postgres: Postgres) {
  const stored = <Purpose extends StepPurpose>(purpose: Purpose, token: string) => ({
    tokenHash: hashOfToken(token),
    purpose,
    expiresAt: { gt: new Date() },
  })
  return {
    /** Begins a step and returns its token. */
    async begin<Purpose extends StepPurpose>(
      purpose: Purpose,
      accountId: string | null,
      data: StepData[Purpose],
    ): Promise<string> {
      const token = newToken()
      await postgres.$executeRawUnsafe(TIDY, accountId)
      await postgres.signInStep.create({
        data: {
          tokenHash: hashOfToken(token),
          purpose,
          accountId,
          data: { ...data },
          expiresAt: new Date(Date.now() + VALID_MS),
        },
      })
      return token
    },

    /** A step that has not ended; otherwise null. It is kept, so that a mistyped code can be corrected. */
    async find<Purpose extends StepPurpose>(
      purpose: Purpose,
      token: string,
    ): Promise<SignInStep<Purpose> | null> {
      if (!isToken(token)) return null
      const row = await postgres.signInStep.findFirst({ where: stored(purpose, token) })
      return row && { accountId: row.accountId, data: row.data as unknown as StepData[Purpose] }
    },

    /** Changes the data of a step. */
    async change<Purpose extends StepPurpose>(
      purpose: Purpose,
      token: string,
      data: StepData[Purpose],
    ): Promise<void> {
      await postgres.signInStep.updateMany({ where: stored(purpose, token), data: { data: { ...data } } })
    },

    /** Ends a step together with what it allows; null, and nothing is done, if it has ended. */
    endWith<Result>(
      purpose: StepPurpose,
      token: string,
      run: (transaction: PostgresTransaction) => Promise<Result>,
    ): Promise<Result | null> {
      return postgres.$transaction(async (transaction) => {
        const { count } = await transaction.signInStep.deleteMany({ where: stored(purpose, token) })
        return count === 0 ? null : run(transaction)
      })
    },

    /** Ends a step; false if it has ended, so that only one of several concurrent requests succeeds. */
    async end(purpose: StepPurpose, token: string): Promise<boolean> {
      const { count } = await postgres.signInStep.deleteMany({ where: stored(purpose, token) })
      return count > 0
    },
  }
}
