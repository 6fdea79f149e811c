import type { ProviderCredentials } from '../../core/catalog/provider-credentials.ts'
import type { WireRequest } from '../wire.ts'
import type { AccessTokens } from './access-tokens.ts'

/** Adds to a converted request what its provider takes instead of the key. Throws CredentialsFailure. */
export type SecretUse = (given: {
  request: WireRequest
  /** Null: the provider has no key, and the machine's own identity is used. */
  secret: string | null
  credentials: ProviderCredentials
  tokens: AccessTokens
  /** Where the machine's identity is found. */
  environment: NodeJS.ProcessEnv
  /** Unix milliseconds. */
  now: () => number
}) => Promise<WireRequest>
