import type { CredentialsKind, ProviderCredentials } from '../../core/catalog/provider-credentials.ts'
import type { Sign, WireRequest } from '../wire.ts'
import { AccessTokens } from './access-tokens.ts'
import { CredentialsFailure } from './credentials-failure.ts'

/** Adds to a converted request what its provider takes instead of the key. Throws CredentialsFailure. */
export type SecretUse = (given: {
  request: WireRequest
  /** Null: the provider has no key, and the machine's own identity is used. */
  secret: string | null
  credentials: ProviderCredentials
  tokens: AccessTokens
  /** Unix milliseconds. */
  now: () => number
}) => Promise<WireRequest>

/** The makers' libraries are loaded with the first request that needs them. */
const USES: Record<CredentialsKind, () => Promise<SecretUse>> = {
  aws: async () => (await import('./aws.ts')).aws,
  google: async () => (await import('./google.ts')).google,
  azure: async () => (await import('./azure.ts')).azure,
}

/** @param now Unix milliseconds */
export function createSign(now: () => number): Sign {
  const tokens = new AccessTokens(now)
  return async (request, secret, credentials) => {
    if (secret === null && credentials.kind !== 'google')
      throw new CredentialsFailure('refused', 'no key for this provider')
    const use = await USES[credentials.kind]()
    return use({ request, secret, credentials, tokens, now })
  }
}
