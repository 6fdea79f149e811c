import type { CredentialsKind } from '../../core/catalog/provider-credentials.ts'
import type { Sign } from '../wire.ts'
import { AccessTokens } from './access-tokens.ts'
import type { SecretUse } from './secret-use.ts'

/** The makers' libraries are loaded with the first request that needs them. */
const USES: Record<CredentialsKind, () => Promise<SecretUse>> = {
  aws: async () => (await import('./aws.ts')).aws,
  google: async () => (await import('./google.ts')).google,
  azure: async () => (await import('./azure.ts')).azure,
}

/** @param now Unix milliseconds */
export function createSign(now: () => number, environment: NodeJS.ProcessEnv = process.env): Sign {
  const tokens = new AccessTokens(now)
  return async (request, secret, credentials) => {
    const use = await USES[credentials.kind]()
    return use({ request, secret, credentials, tokens, environment, now })
  }
}
