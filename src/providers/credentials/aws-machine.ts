import { type AccessToken, askEndpoint, readFields, readTokenFile } from './access-tokens.ts'
import { CredentialsFailure } from './credentials-failure.ts'

const CONTAINER = 'http://169.254.170.2'
const INSTANCE = 'http://169.254.169.254'
const ROLES = '/latest/meta-data/iam/security-credentials/'
const SESSION_SECONDS = '21600'

/**
 * The access key of the machine, `ID:SECRET` or `ID:SECRET:SESSION_TOKEN`: from the environment, a token of a web identity
 * (EKS), the endpoint of the container (ECS, EKS) or the metadata of the instance (EC2, IMDSv2). The order and the
 * variables are those of AWS's own libraries, whose files of profiles are not read.
 */
export async function machineKey(environment: NodeJS.ProcessEnv, region: string): Promise<AccessToken> {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: session } = environment
  if (id && secret)
    return {
      token: [id, secret, ...(session ? [session] : [])].join(':'),
      expiresAt: Number.POSITIVE_INFINITY,
    }
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role } = environment
  if (file && role) return ofWebIdentity(file, role, environment, region)
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: path, AWS_CONTAINER_CREDENTIALS_FULL_URI: url } =
    environment
  if (path || url) return ofContainer(path ? CONTAINER + path : url!, environment)
  return ofInstance(environment.AWS_EC2_METADATA_SERVICE_ENDPOINT?.replace(/\/$/, '') || INSTANCE)
}

async function ofWebIdentity(file: string, role: string, environment: NodeJS.ProcessEnv, region: string) {
  const form = new URLSearchParams({
    ...{ Action: 'AssumeRoleWithWebIdentity', Version: '2011-06-15', RoleArn: role },
    RoleSessionName: environment.AWS_ROLE_SESSION_NAME || 'shuntyard',
    WebIdentityToken: await readTokenFile(file),
  })
  const url = environment.AWS_ENDPOINT_URL_STS || `https://sts.${region}.amazonaws.com`
  const xml = await askEndpoint(url, { method: 'POST', body: form })
  const field = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml)?.[1]
  return readKey({
    ...{ AccessKeyId: field('AccessKeyId'), SecretAccessKey: field('SecretAccessKey') },
    ...{ Token: field('SessionToken'), Expiration: field('Expiration') },
  })
}

async function ofContainer(url: string, environment: NodeJS.ProcessEnv) {
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file } = environment
  const authorization = file ? await readTokenFile(file) : environment.AWS_CONTAINER_AUTHORIZATION_TOKEN
  return readKey(readFields(await askEndpoint(url, authorization ? { headers: { authorization } } : {})))
}

async function ofInstance(address: string) {
  const session = await askEndpoint(`${address}/latest/api/token`, {
    method: 'PUT',
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': SESSION_SECONDS },
  })
  const headers = { 'x-aws-ec2-metadata-token': session }
  const role = (await askEndpoint(address + ROLES, { headers })).trim()
  return readKey(readFields(await askEndpoint(address + ROLES + role, { headers })))
}

function readKey({ AccessKeyId, SecretAccessKey, Token, Expiration }: Record<string, unknown>): AccessToken {
  const expiresAt = Date.parse(String(Expiration))
  if (!AccessKeyId || !SecretAccessKey || !Token || Number.isNaN(expiresAt))
    throw new CredentialsFailure('unreadable', 'the endpoint of the machine sent no access key')
  return { token: `${AccessKeyId}:${SecretAccessKey}:${Token}`, expiresAt }
}
