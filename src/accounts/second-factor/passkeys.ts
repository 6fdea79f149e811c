import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { isDuplicate, type Postgres } from '../../platform/postgres/postgres.ts'
import type { Passkey as PasskeyRow } from '../../platform/prisma-client/client.ts'

export type { AuthenticationResponseJSON, RegistrationResponseJSON }
export type PasskeyCreationOptions = PublicKeyCredentialCreationOptionsJSON
export type PasskeyRequestOptions = PublicKeyCredentialRequestOptionsJSON

/** The site of passkeys, as browsers identify it. */
export interface PasskeySite {
  /** `https://console.example`. */
  origin: string
  /** Its host name. */
  id: string
}

export interface ListedPasskey {
  id: string
  name: string
  createdAt: Date
  lastUsedAt: Date | null
}

export const PASSKEYS_PER_ACCOUNT_MAX = 20
/** COSE: EdDSA, ES256, RS256. */
const ALGORITHMS = [-8, -7, -257] as const
const TIMEOUT_MS = 5 * 60_000

/** Accepts a signature whose count is higher than the last one; authenticators without a counter always send 0. */
const TAKE_COUNT = `
UPDATE passkeys SET counter = $2::bigint, last_used_at = now()
WHERE id = $1 AND (counter < $2::bigint OR (counter = 0 AND $2::bigint = 0))`

/** Loaded by the first ceremony: its 150 modules take 5 MB, and most processes never need them. */
const webAuthn = () => import('@simplewebauthn/server')

/** Passkeys of accounts (WebAuthn): their ceremonies and their store. */
export type Passkeys = ReturnType<typeof createPasskeys>

export function createPasskeys(postgres: Postgres) {
  const ofAccount = (accountId: string): Promise<PasskeyRow[]> =>
    postgres.passkey.findMany({ where: { accountId }, orderBy: { createdAt: 'asc' } })

  return {
    list: (accountId: string): Promise<ListedPasskey[]> => ofAccount(accountId),

    async has(accountId: string): Promise<boolean> {
      return (await postgres.passkey.count({ where: { accountId } })) > 0
    },

    /** The options for the browser to create a passkey. */
    async creationOptions(
      site: PasskeySite,
      account: { id: string; email: string },
    ): Promise<PasskeyCreationOptions> {
      const known = await ofAccount(account.id)
      const { generateRegistrationOptions } = await webAuthn()
      return generateRegistrationOptions({
        rpName: 'Shuntyard',
        rpID: site.id,
        userID: new TextEncoder().encode(account.id),
        userName: account.email,
        timeout: TIMEOUT_MS,
        excludeCredentials: known.map(({ id, transports }) => ({ id, transports })),
        supportedAlgorithmIDs: [...ALGORITHMS],
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
      })
    },

    /** Stores a passkey that a browser created; false if the response is not valid. */
    async add(
      site: PasskeySite,
      { accountId, name, challenge }: { accountId: string; name: string; challenge: string },
      response: RegistrationResponseJSON,
    ): Promise<boolean> {
      const { verifyRegistrationResponse } = await webAuthn()
      const verified = await verifyRegistrationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: site.origin,
        expectedRPID: site.id,
        requireUserVerification: false,
        supportedAlgorithmIDs: [...ALGORITHMS],
      }).catch(() => null) // It throws if the response is invalid.
      if (!verified?.verified) return false
      const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential
      try {
        await postgres.passkey.create({
          data: {
            id,
            accountId,
            publicKey: new Uint8Array(publicKey),
            counter: BigInt(counter),
            transports: [...transports],
            name,
          },
        })
        return true
      } catch (error) {
        if (isDuplicate(error)) return false
        throw error
      }
    },

    /** The options for the browser to sign with a passkey: of this account, or with any that it has for this site. */
    async requestOptions(site: PasskeySite, accountId: string | null): Promise<PasskeyRequestOptions> {
      const known = accountId === null ? [] : await ofAccount(accountId)
      const { generateAuthenticationOptions } = await webAuthn()
      return generateAuthenticationOptions({
        rpID: site.id,
        timeout: TIMEOUT_MS,
        allowCredentials: known.map(({ id, transports }) => ({ id, transports })),
        // Alone, it must be two factors: the device, and the fingerprint or code that unlocks it.
        userVerification: accountId === null ? 'required' : 'preferred',
      })
    },

    /** The account of a passkey with a valid signature; otherwise null. `isAlone`: no password was given. */
    async take(
      site: PasskeySite,
      { challenge, isAlone }: { challenge: string; isAlone: boolean },
      response: AuthenticationResponseJSON,
    ): Promise<string | null> {
      const row = await postgres.passkey.findUnique({ where: { id: response.id } })
      if (!row) return null
      const { verifyAuthenticationResponse } = await webAuthn()
      const verified = await verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: site.origin,
        expectedRPID: site.id,
        credential: { id: row.id, publicKey: row.publicKey, counter: Number(row.counter) },
        requireUserVerification: isAlone,
      }).catch(() => null) // It throws if the response is invalid.
      if (!verified?.verified) return null
      const count = BigInt(verified.authenticationInfo.newCounter)
      return (await postgres.$executeRawUnsafe(TAKE_COUNT, row.id, count)) === 1 ? row.accountId : null
    },

    async remove(accountId: string, id: string): Promise<boolean> {
      const { count } = await postgres.passkey.deleteMany({ where: { accountId, id } })
      return count > 0
    },

    async removeAll(accountId: string): Promise<void> {
      await postgres.passkey.deleteMany({ where: { accountId } })
    },
  }
}
