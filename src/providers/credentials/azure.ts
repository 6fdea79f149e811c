import type { ProviderCredentials } from '../../core/catalog/provider-credentials.ts'
import { askEndpoint, postForm, readFields, readToken, readTokenFile } from './access-tokens.ts'
import type { SecretUse } from './secret-use.ts'

const AUTHORITY = 'https://login.microsoftonline.com'
const TOKEN_PATH = '/{tenant}/oauth2/v2.0/token'
const INSTANCE = 'http://169.254.169.254'
const SCOPE = 'https://cognitiveservices.azure.com/.default'
const APPLICATION = /^([\w.-]+):([\w.-]+):([^:]+)$/

/**
 * A key of a resource in its header, or the token of an application of Microsoft Entra, or of the machine where the
 * provider has no key. Each grant is one request, which is why they are not left to `@azure/identity`: 48 MB of packages,
 * most of them for people who sign in.
 */
export const azure: SecretUse = async ({ request, secret, credentials, tokens, environment, now }) => {
  const [, tenant = '', client = '', clientSecret = ''] = APPLICATION.exec(secret ?? '') ?? []
  if (secret !== null && tenant === '')
    return { ...request, headers: [...request.headers, 'api-key', secret] }
  const token = await tokens.of(JSON.stringify([credentials, secret]), async () => {
    const answer =
      secret === null
        ? await askMachine(credentials, environment)
        : await askEntra(credentials, tenant, { client_id: client, client_secret: clientSecret })
    return readToken(answer, now())
  })
  return { ...request, headers: [...request.headers, 'authorization', `Bearer ${token}`] }
}

function askEntra(
  { tokenUrl = AUTHORITY + TOKEN_PATH, scope = SCOPE }: ProviderCredentials,
  tenant: string,
  application: Record<string, string>,
) {
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...application, scope })
  return postForm(
    tokenUrl.replace('{tenant}', () => encodeURIComponent(tenant)),
    form,
  )
}

/**
 * By a workload identity (AKS), or the managed identity of an app service, container app or virtual machine. The variables
 * are those of Azure's own libraries.
 */
async function askMachine(credentials: ProviderCredentials, environment: NodeJS.ProcessEnv) {
  const { AZURE_FEDERATED_TOKEN_FILE: file, AZURE_TENANT_ID: tenant, AZURE_CLIENT_ID: client } = environment
  if (file && tenant && client) {
    const authority = environment.AZURE_AUTHORITY_HOST?.replace(/\/$/, '') || AUTHORITY
    return askEntra({ tokenUrl: authority + TOKEN_PATH, ...credentials }, tenant, {
      client_id: client,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await readTokenFile(file),
    })
  }
  const { IDENTITY_ENDPOINT: app, IDENTITY_HEADER: header } = environment
  const host = environment.AZURE_POD_IDENTITY_AUTHORITY_HOST?.replace(/\/$/, '') || INSTANCE
  const url = new URL(app && header ? app : `${host}/metadata/identity/oauth2/token`)
  url.searchParams.set('api-version', app && header ? '2019-08-01' : '2018-02-01')
  url.searchParams.set('resource', (credentials.scope ?? SCOPE).replace(/\/\.default$/, ''))
  if (client) url.searchParams.set('client_id', client)
  const headers: Record<string, string> =
    app && header ? { 'x-identity-header': header } : { metadata: 'true' }
  return readFields(await askEndpoint(url, { headers }))
}
