import { GoogleAuth, JWT } from 'google-auth-library'
import { googleKey, type ProviderCredentials } from '../../core/catalog/provider-credentials.ts'
import { type AccessToken, postForm, readToken } from './access-tokens.ts'
import { CredentialsFailure } from './credentials-failure.ts'
import type { SecretUse } from './secret-use.ts'

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const TOKEN_URL = 'https://oauth2.googleapis.com/token'

/** The token of a service account, or of the machine where the provider has no key; any other key as an API key. */
export const google: SecretUse = async ({ request, secret, credentials, tokens, now }) => {
  const file = secret === null ? null : googleKey(secret)
  if (secret !== null && file === null)
    return { ...request, headers: [...request.headers, 'x-goog-api-key', secret] }
  const key = JSON.stringify([credentials, new URL(request.url).origin, secret])
  const token = await tokens.of(key, () =>
    file
      ? ofServiceAccount(file, credentials, new URL(request.url).origin, now)
      : ofMachine(credentials, now),
  )
  return { ...request, headers: [...request.headers, 'authorization', `Bearer ${token}`] }
}

/**
 * The library signs the assertion; it is posted here, with a deadline and no redirects. The file's own `token_uri` is used
 * only at Google and at the provider itself: customers bring files, too.
 */
async function ofServiceAccount(
  { client_email: email, private_key: key, private_key_id: keyId, token_uri: uri }: Record<string, unknown>,
  { tokenUrl, scope = SCOPE }: ProviderCredentials,
  origin: string,
  now: () => number,
): Promise<AccessToken> {
  if (typeof email !== 'string' || typeof key !== 'string')
    throw new CredentialsFailure('refused', 'the key is no file of a service account')
  const own = typeof uri === 'string' && URL.canParse(uri) && new URL(uri).origin === origin ? uri : TOKEN_URL
  const url = tokenUrl ?? own
  let answer: Record<string, unknown> | undefined
  const client = new JWT({
    ...{ email, key, scopes: [scope] },
    ...(typeof keyId === 'string' && { keyId }),
    additionalClaims: { aud: url },
  })
  client.transporter.request = async ({ data }: { data?: unknown }) => {
    answer = await postForm(url, data as URLSearchParams)
    return { data: answer } as never
  }
  try {
    await client.authorize()
  } catch (cause) {
    if (cause instanceof CredentialsFailure) throw cause
    throw new CredentialsFailure(
      'refused',
      'the private key of the service account signs nothing',
      null,
      cause,
    )
  }
  return readToken(answer ?? {}, now())
}

/** Application default credentials: workload identity, the metadata server, or a file that the environment names. */
async function ofMachine({ scope = SCOPE }: ProviderCredentials, now: () => number): Promise<AccessToken> {
  try {
    const client = await new GoogleAuth({ scopes: [scope] }).getClient()
    const { token } = await client.getAccessToken()
    return readToken(
      { access_token: token, expires_in: ((client.credentials.expiry_date ?? 0) - now()) / 1_000 },
      now(),
    )
  } catch (cause) {
    if (cause instanceof CredentialsFailure) throw cause
    throw new CredentialsFailure('refused', 'the machine has no identity at Google', null, cause)
  }
}
