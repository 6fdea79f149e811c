import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, verify } from 'node:crypto'
import type { CredentialsKind } from '../../../src/core/catalog/provider-credentials.ts'
import { isObject } from '../simulated-request.ts'
import { type SignedRequest, signatureProblem } from './aws-signature.ts'

/** What the simulated clouds accept. */
export const AWS_ACCESS_KEY_ID = 'AKIASIMULATED0000001'
export const AWS_SECRET = 'simulated/secret+of/an/access/key0000000'
export const AWS_SESSION_TOKEN = 'simulated//session+token=='
export const BEDROCK_API_KEY = 'bedrock-api-key-simulated'
export const AZURE_KEY = 'simulated0azure0key0of0a0resource'
export const AZURE_APPLICATION = { tenant: 'tenant-1', client: 'client-1', secret: 'simulated~client.secret' }
const SERVICE_ACCOUNT = 'gateway@simulated.iam.gserviceaccount.com'
const SCOPES = {
  google: 'https://www.googleapis.com/auth/cloud-platform',
  azure: 'https://cognitiveservices.azure.com/.default',
}
const TOKEN_SECONDS = 3_600
const MODELS_REGION = 'us-east-1'

/** The identities of the simulated clouds: exchanges keys for tokens, and checks what requests are sent with. */
export function createCloudAccess() {
  let keys: { publicKey: KeyObject; privateKey: KeyObject } | undefined
  const keyPair = () => {
    keys ??= generateKeyPairSync('rsa', { modulusLength: 2_048 })
    return keys
  }
  const issued: Record<'google' | 'azure', Set<string>> = { google: new Set(), azure: new Set() }
  const issue = (kind: 'google' | 'azure', type: string) => {
    const token = `${kind}-${randomBytes(12).toString('hex')}`
    issued[kind].add(token)
    return { access_token: token, expires_in: TOKEN_SECONDS, token_type: type }
  }
  return {
    /** The file of the service account, as JSON. */
    serviceAccount: (tokenUri?: string): string =>
      JSON.stringify({
        type: 'service_account',
        project_id: 'simulated',
        private_key_id: 'key-of-the-simulator',
        private_key: keyPair().privateKey.export({ type: 'pkcs8', format: 'pem' }),
        client_email: SERVICE_ACCOUNT,
        ...(tokenUri !== undefined && { token_uri: tokenUri }),
      }),

    /** How many tokens were issued. */
    issuedTokens: () => issued.google.size + issued.azure.size,

    /** The answer of a token endpoint. */
    exchange(kind: 'google' | 'azure', form: URLSearchParams, url: string): { status: number; body: object } {
      const problem = kind === 'google' ? assertionProblem(form, url) : grantProblem(form, url)
      if (problem !== null)
        return { status: 400, body: { error: 'invalid_grant', error_description: problem } }
      return { status: 200, body: issue(kind, 'Bearer') }
    },

    /** Why a request is not let in; null if it is. */
    problemOf(kind: CredentialsKind, request: SignedRequest): string | null {
      const { headers } = request
      const bearer = /^Bearer (.+)$/.exec(String(headers.authorization))?.[1]
      switch (kind) {
        case 'azure':
          return headers['api-key'] === AZURE_KEY || issued.azure.has(String(bearer))
            ? null
            : 'no key or token'
        case 'google':
          return issued.google.has(String(bearer)) ? null : 'no token'
        case 'aws':
          return bearer === BEDROCK_API_KEY ? null : signedProblem(request)
        default:
          return kind satisfies never
      }
    },
  }

  function signedProblem(request: SignedRequest): string | null {
    const token = request.headers['x-amz-security-token']
    if (token !== undefined && token !== AWS_SESSION_TOKEN) return 'another session'
    const scope = `/${MODELS_REGION}/bedrock/aws4_request`
    if (!String(request.headers.authorization).includes(scope)) return 'another scope'
    return signatureProblem(request, (id) => (id === AWS_ACCESS_KEY_ID ? AWS_SECRET : null), Date.now())
  }

  /** Of a JWT by the service account (RFC 7523). */
  function assertionProblem(form: URLSearchParams, url: string): string | null {
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') return 'another grant'
    const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')
    const publicKey = createPublicKey(keyPair().publicKey.export({ type: 'spki', format: 'pem' }))
    const isSigned = verify(
      'RSA-SHA256',
      Buffer.from(`${head}.${claims}`),
      publicKey,
      Buffer.from(signature, 'base64url'),
    )
    if (!isSigned || decodedPart(head).alg !== 'RS256') return 'another signature'
    const { iss, scope, aud, iat, exp } = decodedPart(claims)
    if (iss !== SERVICE_ACCOUNT || scope !== SCOPES.google || aud !== url)
      return 'another issuer, scope or audience'
    const now = Date.now() / 1_000
    const lasts = Number(exp) - Number(iat)
    return Number(iat) <= now + 60 && Number(exp) > now && lasts > 0 && lasts <= TOKEN_SECONDS
      ? null
      : 'another time'
  }
}

function grantProblem(form: URLSearchParams, url: string): string | null {
  const { tenant, client, secret } = AZURE_APPLICATION
  const isRight =
    url.endsWith(`/${tenant}`) &&
    form.get('grant_type') === 'client_credentials' &&
    form.get('client_id') === client &&
    form.get('client_secret') === secret &&
    form.get('scope') === SCOPES.azure
  return isRight ? null : 'another application'
}

function decodedPart(part: string): Record<string, unknown> {
  const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
  return isObject(value) ? value : {}
}
