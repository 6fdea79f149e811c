import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { CredentialsKind } from '../../../src/core/catalog/provider-credentials.ts'
import { createSign } from '../../../src/providers/credentials/create-sign.ts'

const NOW = Date.parse('2026-11-28T12:00:00Z')
const END = new Date(NOW + 3_600_000).toISOString()

/** What the endpoints of the machine are asked, and how many keys they have given away. */
const asked: Array<{ method: string; url: string; headers: IncomingMessage['headers']; form: string }> = []
let given = 0
/** Ends each answer with 403. */
let refuses = false
let folder: string
let url: string

const keyOf = (number: number) => ({
  ...{ AccessKeyId: `ASIA00000000000000${number}`, SecretAccessKey: 'secret/of+a role' },
  ...{ Token: `session//${number}==`, Expiration: END },
})
const ANSWERS: Record<string, () => unknown> = {
  'PUT /latest/api/token': () => 'imds-session',
  'GET /latest/meta-data/iam/security-credentials/': () => 'gateway\n',
  'GET /latest/meta-data/iam/security-credentials/gateway': () => ({ Code: 'Success', ...keyOf(++given) }),
  'GET /container': () => keyOf(++given),
  'POST /sts': () => {
    const { AccessKeyId, SecretAccessKey, Token, Expiration } = keyOf(++given)
    const fields = { AccessKeyId, SecretAccessKey, SessionToken: Token, Expiration }
    const xml = Object.entries(fields).map(([name, value]) => `<${name}>${value}</${name}>`)
    return `<AssumeRoleWithWebIdentityResponse><Credentials>${xml.join('')}</Credentials></AssumeRoleWithWebIdentityResponse>`
  },
  'GET /metadata/identity/oauth2/token': () => ({ access_token: `azure-${++given}`, expires_in: '3600' }),
  'GET /app': () => ({ access_token: `azure-${++given}`, expires_on: String(NOW / 1_000 + 3_600) }),
  'POST /tenant-1/oauth2/v2.0/token': () => ({ access_token: `azure-${++given}`, expires_in: 3_600 }),
  'GET /computeMetadata/v1/instance/service-accounts/default/token': () => ({
    ...{ access_token: `google-${++given}`, expires_in: 3_600, token_type: 'Bearer' },
  }),
}
const server = createServer(async (request, response) => {
  let form = ''
  for await (const piece of request) form += piece
  const { method = '', headers } = request
  asked.push({ method, url: request.url ?? '', headers, form })
  const answer = ANSWERS[`${method} ${request.url?.split('?')[0]}`]?.()
  response.writeHead(refuses || answer === undefined ? 403 : 200, {
    ...(typeof answer === 'object' && { 'content-type': 'application/json' }),
    'metadata-flavor': 'Google',
  })
  response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-identity-'))
  await writeFile(join(folder, 'token'), 'token-of-the-machine\n')
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  asked.length = 0
  given = 0
  refuses = false
  vi.unstubAllEnvs()
})
afterAll(async () => {
  server.close()
  await rm(folder, { recursive: true, force: true })
})

type Place = [place: string, kind: CredentialsKind, environment: () => Record<string, string>, sent: RegExp]
const PLACES: Place[] = [
  [
    'an instance of AWS',
    'aws',
    () => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: `${url}/` }),
    /"GET".*"x-aws-ec2-metadata-token":"imds-session"/,
  ],
  [
    'a container of AWS',
    'aws',
    () => ({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/container`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: join(folder, 'token'),
    }),
    /"GET".*"authorization":"token-of-the-machine"/,
  ],
  [
    'a web identity at AWS',
    'aws',
    () => ({
      ...{ AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'token'), AWS_ROLE_ARN: 'arn:aws:iam::1:role/gateway' },
      AWS_ENDPOINT_URL_STS: `${url}/sts`,
    }),
    /RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fgateway.*WebIdentityToken=token-of-the-machine/,
  ],
  [
    'a virtual machine of Azure',
    'azure',
    () => ({ AZURE_POD_IDENTITY_AUTHORITY_HOST: url, AZURE_CLIENT_ID: 'client-1' }),
    /resource=https%3A%2F%2Fcognitiveservices.azure.com&client_id=client-1.*"metadata":"true"/,
  ],
  [
    'an app of Azure',
    'azure',
    () => ({ IDENTITY_ENDPOINT: `${url}/app`, IDENTITY_HEADER: 'header-1' }),
    /api-version=2019-08-01.*"x-identity-header":"header-1"/,
  ],
  [
    'a workload identity of Azure',
    'azure',
    () => ({
      ...{ AZURE_FEDERATED_TOKEN_FILE: join(folder, 'token'), AZURE_TENANT_ID: 'tenant-1' },
      ...{ AZURE_CLIENT_ID: 'client-1', AZURE_AUTHORITY_HOST: `${url}/` },
    }),
    /client_id=client-1.*client_assertion=token-of-the-machine&scope=https%3A%2F%2Fcognitiveservices/,
  ],
  [
    'an instance of Google',
    'google',
    () => ({ GCE_METADATA_HOST: url.replace('http://', ''), METADATA_SERVER_DETECTION: 'assume-present' }),
    /"metadata-flavor":"Google"/,
  ],
]

/** The number of the key or token that a request was sent with, by a clock of the test. */
function scene(kind: CredentialsKind, environment: Record<string, string>) {
  const clock = { now: NOW }
  const sign = createSign(() => clock.now, environment)
  const request = { url: 'https://cloud.example/model/m/converse-stream', headers: [], body: '{}' }
  const credentials = { kind, ...(kind === 'aws' && { region: 'eu-central-1' }) }
  const number = async () => {
    const { headers } = await sign(request, null, credentials)
    const sent = (name: string) => headers[headers.indexOf(name) + 1] ?? ''
    if (kind !== 'aws') return /^Bearer \w+-(\d)$/.exec(sent('authorization'))?.[1]
    const id = /Credential=ASIA0+(\d)\/\d+\/eu-central-1\/bedrock\//.exec(sent('authorization'))?.[1]
    expect(sent('x-amz-security-token')).toBe(`session//${id}==`)
    return id
  }
  return { clock, number }
}

test.each(PLACES)(
  '%s is the key of a provider without one, and is renewed before its end',
  async (_, kind, environment, sent) => {
    const variables = environment()
    if (kind === 'google') {
      // Google's library reads the environment of the process and the clock of the machine.
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
      const { number } = scene(kind, {})
      expect(await number()).toBe('1')
    } else {
      const { clock, number } = scene(kind, variables)
      expect(await Promise.all([number(), number(), number()])).toEqual(['1', '1', '1'])
      clock.now += 3_539_000
      expect(await number()).toBe('1')
      clock.now += 2_000
      expect(await Promise.all([number(), number(), number()])).toEqual(['2', '2', '2'])
    }
    expect(asked.map((each) => JSON.stringify(Object.values(each))).join('\n')).toMatch(sent)
  },
)

test.each(PLACES.filter(([, kind]) => kind !== 'google'))(
  '%s that refuses is a refused key, and is asked again',
  async (_, kind, environment) => {
    const { number } = scene(kind, environment())
    refuses = true
    await expect(number()).rejects.toMatchObject({ kind: 'refused', httpStatus: 403 })
    refuses = false
    expect(await number()).toMatch(/\d/)
  },
)

test('an access key in the environment comes before every endpoint', async () => {
  const environment = {
    ...{ AWS_ACCESS_KEY_ID: 'ASIA000000000000007', AWS_SECRET_ACCESS_KEY: 'secret' },
    ...{ AWS_SESSION_TOKEN: 'session//7==', AWS_EC2_METADATA_SERVICE_ENDPOINT: url },
  }
  expect(await scene('aws', environment).number()).toBe('7')
  expect(asked).toEqual([])
})

test('a token file that cannot be read is a refused key', async () => {
  const { number } = scene('aws', { AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'none'), AWS_ROLE_ARN: 'role' })
  await expect(number()).rejects.toMatchObject({ kind: 'refused' })
})
