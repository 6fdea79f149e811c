import type { CredentialsKind } from '../../core/catalog/provider-credentials.ts'
import type { Sign } from '../wire.ts'
import { AccessTokens } from './access-tokens.ts'
import { CredentialsFailure } from './credentials-failure.ts'
import type { SecretUse } from './secret-use.ts'

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
