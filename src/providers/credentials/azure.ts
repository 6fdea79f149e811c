import type { ProviderCredentials } from '../../core/catalog/provider-credentials.ts'
import { type AccessToken, postForm, readToken } from './access-tokens.ts'
import type { SecretUse } from './secret-use.ts'

const TOKEN_URL = 'https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token'
const SCOPE = 'https://cognitiveservices.azure.com/.default'
const APPLICATION = /^([\w.-]+):([\w.-]+):([^:]+)$/

/**
 * A key of a resource in its header, or the token of an application of Microsoft Entra. The grant is one form, which is why
 * it is not left to `@azure/identity`: 48 MB of packages, most of them for people who sign in.
 */
export const azure: SecretUse = async ({ request, secret, credentials, tokens, now }) => {
  const application = APPLICATION.exec(secret ?? '')
  const header = application
    ? [
        'authorization',
        `Bearer ${await tokens.of(JSON.stringify([credentials, secret]), () =>
          exchange(application.slice(1) as [string, string, string], credentials, now),
        )}`,
      ]
    : ['api-key', secret ?? '']
  return { ...request, headers: [...request.headers, ...header] }
}

async function exchange(
  [tenant, client, clientSecret]: [string, string, string],
  { tokenUrl = TOKEN_URL, scope = SCOPE }: ProviderCredentials,
  now: () => number,
): Promise<AccessToken> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: client,
    client_secret: clientSecret,
    scope,
  })
  return readToken(
    await postForm(
      tokenUrl.replace('{tenant}', () => encodeURIComponent(tenant)),
      form,
    ),
    now(),
  )
}
