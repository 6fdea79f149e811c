import { createHash } from 'node:crypto'
import { mailboxOf } from '../core/kernel/email-address.ts'
import { clientNetworks } from '../platform/network/client-networks.ts'
import { consume, createLimiter, createNetworkLimiter } from '../platform/redis/rate-limiter.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { throttlePrefix } from '../platform/redis/redis-keys.ts'

/**
 * Limits guessing: sign-in attempts count by network address and by email, sign-ups by network address.
 * An address counts as its IPv4 address or its IPv6 /64, and with a higher limit as its IPv6 /48. Counted in
 * Redis for the whole fleet. Throws ApiError 429 above a limit; rejects if Redis is unavailable, so that no guessing is
 * possible.
 */
export type SignInThrottle = ReturnType<typeof createSignInThrottle>

interface ThrottleLimits {
  /** Per 15 minutes for one email from one address; ten times as many from all addresses. */
  signInsPerEmail: number
  signInsPerAddress: number
  /** Within an hour. */
  signUpsPerAddress: number
}

const QUARTER_HOUR_SECONDS = 900
/** Factor for attempts on one email from all addresses together. */
const ADDRESSES_FACTOR = 10
const HOUR_SECONDS = 3_600
const VERIFICATION_MAILS_PER_HOUR = 5
const INVITATIONS_PER_DAY = 100
const UNPAID_INVITATIONS_PER_DAY = 10
const CODES_PER_QUARTER_HOUR = 10
const CODES_PER_DAY = 30
const DAY_SECONDS = 86_400
const KNOWN_SECONDS = 90 * 86_400

const knownKey = (both: string): string => `${throttlePrefix('sign-in-known')}:${both}`

export function createSignInThrottle(redis: Redis, limits: ThrottleLimits) {
  const limiter = (name: string, points: number, seconds: number) =>
    createLimiter(redis, name, points, seconds)
  // Guessing from one address does not lock out other addresses of that account.
  const byBoth = limiter('sign-in-email-address', limits.signInsPerEmail, QUARTER_HOUR_SECONDS)
  const byEmail = limiter('sign-in-email', limits.signInsPerEmail * ADDRESSES_FACTOR, QUARTER_HOUR_SECONDS)
  const signIns = createNetworkLimiter(redis, 'sign-in', limits.signInsPerAddress, QUARTER_HOUR_SECONDS)
  const signUps = createNetworkLimiter(redis, 'sign-up', limits.signUpsPerAddress, HOUR_SECONDS)
  const mails = limiter('verification-mail', VERIFICATION_MAILS_PER_HOUR, HOUR_SECONDS)
  const invitations = limiter('invitation', INVITATIONS_PER_DAY, DAY_SECONDS)
  const unpaidInvitations = limiter('unpaid-invitation', UNPAID_INVITATIONS_PER_DAY, DAY_SECONDS)
  const resets = limiter('password-reset', VERIFICATION_MAILS_PER_HOUR, HOUR_SECONDS)
  const passwords = limiter('password-change', limits.signInsPerEmail, QUARTER_HOUR_SECONDS)

  // A code is one of a million, and three are valid at a time: at this rate a guess hits once in three decades.
  const codes = limiter('second-factor', CODES_PER_QUARTER_HOUR, QUARTER_HOUR_SECONDS)
  const codesOfDay = limiter('second-factor-day', CODES_PER_DAY, DAY_SECONDS)
  const longCodes = limiter('second-factor-long', CODES_PER_QUARTER_HOUR, QUARTER_HOUR_SECONDS)

  const makeKnown = async (networkAddress: string, email: string): Promise<void> => {
    await redis.set(knownKey(bothKey(networkAddress, email)), '1', 'EX', KNOWN_SECONDS)
  }

  return {
    /** `isKnown`: the email has signed up or in from that network before. */
    async signIn(networkAddress: string, email: string): Promise<{ isKnown: boolean }> {
      await signIns.consume(networkAddress)
      const both = bothKey(networkAddress, email)
      await consume(byBoth, both)
      // Strangers who guess at an account cannot lock its holder out of networks where they signed up or in before.
      const isKnown = (await redis.exists(knownKey(both))) === 1
      if (!isKnown) await consume(byEmail, emailKey(email))
      return { isKnown }
    },
    /** The attempt succeeded: it does not count, and the email is known at that network from now on. */
    async signedIn(networkAddress: string, email: string): Promise<void> {
      await Promise.all([
        signIns.reward(networkAddress),
        byBoth.delete(bothKey(networkAddress, email)),
        byEmail.reward(emailKey(email), 1),
        makeKnown(networkAddress, email),
      ])
    },
    /** An account was opened: its email is known at that network. */
    signedUp: makeKnown,
    signUp: (networkAddress: string): Promise<void> => signUps.consume(networkAddress),
    operator: (networkAddress: string): Promise<void> => signIns.consume(networkAddress, () => 'later'),
    verification: (networkAddress: string): Promise<void> => signIns.consume(networkAddress),
    /** Messages to one mailbox, for any account. */
    verificationMail: (email: string): Promise<void> => consume(mails, emailKey(mailboxOf(email))),
    /** Invitations sent by one person, fewer before any payment, and messages to one mailbox. */
    async invitation(personId: string, email: string, hasPaid: boolean): Promise<void> {
      await consume(hasPaid ? invitations : unpaidInvitations, personId, () => 'tomorrow')
      await consume(mails, emailKey(mailboxOf(email)))
    },
    /** Password reset messages: counted the same for emails without an account. */
    async passwordReset(networkAddress: string, email: string): Promise<void> {
      await signIns.consume(networkAddress)
      await consume(resets, emailKey(mailboxOf(email)))
    },
    /** Wrong codes of an app, which require the password of the account first. */
    async secondFactor(accountId: string): Promise<void> {
      await consume(codes, accountId)
      await consume(codesOfDay, accountId, () => 'tomorrow, or use a recovery code or a passkey')
    },
    /**
     * Wrong recovery codes and passkeys, which are too long to guess. They count by network, so that an attacker with
     * the password cannot lock the holder out elsewhere, and separately from codes of an app, for the same reason.
     */
    longSecondFactor: (accountId: string, networkAddress: string): Promise<void> =>
      consume(longCodes, longKey(accountId, networkAddress)),
    async rightSecondFactor(accountId: string, networkAddress: string): Promise<void> {
      await Promise.all([
        codes.delete(accountId),
        codesOfDay.delete(accountId),
        longCodes.delete(longKey(accountId, networkAddress)),
      ])
    },
    /** The first code of a new app was right. */
    async rightFirstCode(accountId: string): Promise<void> {
      await Promise.all([codes.delete(accountId), codesOfDay.delete(accountId)])
    },
    /** Wrong current passwords of a session. */
    password: (accountId: string): Promise<void> => consume(passwords, accountId),
    async rightPassword(accountId: string): Promise<void> {
      await passwords.reward(accountId, 1)
    },
  }
}

/** No email is stored in Redis. */
const emailKey = (email: string): string => createHash('sha256').update(email.toLowerCase()).digest('hex')

const bothKey = (networkAddress: string, email: string): string =>
  `${clientNetworks(networkAddress).subnet}/${emailKey(email)}`

const longKey = (accountId: string, networkAddress: string): string =>
  `${accountId}/${clientNetworks(networkAddress).subnet}`
