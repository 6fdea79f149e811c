import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import type { SignInProvider } from '../../core/accounts/sign-in-providers.ts'
import { normalizeEmail, onlyItsCaseChanges } from '../../core/kernel/email-address.ts'
import type { Identity } from './identity-store.ts'

/** Proves that the returning browser is the one that was sent to the provider. */
export interface OauthSecrets {
  verifier: string
  state: string
  nonce: string
}

/** An identity as its provider states it. */
export interface StatedIdentity extends Identity {
  isEmailVerified: boolean
  /** The claim `groups`. */
  groups: string[]
}

/** Signs in at an identity provider: authorization codes with PKCE, state and, with OpenID Connect, a nonce. */
export type IdentityProvider = ReturnType<typeof createIdentityProvider>

const TIMEOUT_SECONDS = 10

export function createIdentityProvider(provider: SignInProvider) {
  const { id, name, clientId, clientSecret, redirectUri } = provider
  let discovered: Promise<Configuration> | null = null

  const configure = async (): Promise<Configuration> => {
    if (provider.kind === 'github') {
      const { url } = provider
      const metadata = {
        issuer: url,
        authorization_endpoint: `${url}/login/oauth/authorize`,
        token_endpoint: `${url}/login/oauth/access_token`,
      }
      const configuration = new Configuration(
        metadata,
        clientId,
        clientSecret,
        ClientSecretPost(clientSecret),
      )
      if (url.startsWith('http:')) allowInsecureRequests(configuration)
      configuration.timeout = TIMEOUT_SECONDS
      return configuration
    }
    const isLocal = provider.issuer.startsWith('http:')
    return discovery(new URL(provider.issuer), clientId, clientSecret, ClientSecretPost(clientSecret), {
      // Also checks the signature of an ID token, instead of relying on TLS alone.
      execute: isLocal ? [enableNonRepudiationChecks, allowInsecureRequests] : [enableNonRepudiationChecks],
      timeout: TIMEOUT_SECONDS,
    })
  }
  /** Read once, and again after a failure. */
  const configuration = (): Promise<Configuration> => {
    discovered ??= configure().catch((error: unknown) => {
      discovered = null
      throw error
    })
    return discovered
  }

  return {
    id,
    name,

    /** The URL for the browser, and the secrets to check its return with. Rejects if the provider cannot be reached. */
    async begin(): Promise<{ url: string; secrets: OauthSecrets }> {
      const secrets = { verifier: randomPKCECodeVerifier(), state: randomState(), nonce: randomNonce() }
      const url = buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        code_challenge: await calculatePKCECodeChallenge(secrets.verifier),
        code_challenge_method: 'S256',
        state: secrets.state,
        ...(provider.kind === 'github'
          ? { scope: 'read:user user:email' }
          : { scope: 'openid email', nonce: secrets.nonce }),
      })
      return { url: url.href, secrets }
    },

    /** The identity that returned with this query. Rejects if a check fails or the provider cannot be reached. */
    async finish(query: string, { verifier, state, nonce }: OauthSecrets): Promise<StatedIdentity> {
      const configured = await configuration()
      const isOpenId = provider.kind === 'openid'
      const tokens = await authorizationCodeGrant(configured, new URL(`${redirectUri}${query}`), {
        pkceCodeVerifier: verifier,
        expectedState: state,
        ...(isOpenId && { expectedNonce: nonce, idTokenExpected: true }),
      })
      if (provider.kind === 'github') return readGithubUser(provider.apiUrl, tokens.access_token)
      const claims = tokens.claims()
      if (!claims) throw new Error('the provider sent no ID token')
      // Some providers have the address in the token, others only in the user info.
      const info =
        claims.email === undefined ? await fetchUserInfo(configured, tokens.access_token, claims.sub) : claims
      return {
        provider: id,
        subject: claims.sub,
        ...statedEmail(String(info.email ?? ''), info.email_verified === true),
        groups: [claims.groups ?? info.groups ?? []].flat().map(String),
      }
    },
  }
}

/** An address as stated. One that normalizing makes another is another mailbox, and what was verified is not ours. */
const statedEmail = (stated: string, isVerified: boolean) => ({
  email: normalizeEmail(stated),
  isEmailVerified: isVerified && onlyItsCaseChanges(stated.trim()),
})

/** GitHub states its users by its API; of their addresses, the primary one counts. */
async function readGithubUser(apiUrl: string, accessToken: string): Promise<StatedIdentity> {
  const read = async (path: string): Promise<unknown> => {
    const response = await fetch(`${apiUrl}${path}`, {
      headers: { authorization: `Bearer ${accessToken}`, accept: 'application/vnd.github+json' },
      signal: AbortSignal.timeout(TIMEOUT_SECONDS * 1_000),
    })
    if (!response.ok) throw new Error(`GitHub answers ${response.status} to ${path}`)
    return response.json()
  }
  const [user, emails] = await Promise.all([read('/user'), read('/user/emails')])
  const { id } = user as { id?: unknown }
  const primary = (emails as Array<{ email?: unknown; primary?: unknown; verified?: unknown }>).find(
    (email) => email.primary === true,
  )
  if (typeof id !== 'number' || typeof primary?.email !== 'string')
    throw new Error('GitHub stated no user with a primary address')
  return {
    provider: 'github',
    subject: String(id),
    ...statedEmail(primary.email, primary.verified === true),
    groups: [],
  }
}
