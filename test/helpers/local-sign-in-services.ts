import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Provider from 'oidc-provider'

/** A user of the services below. */
export interface LocalUser {
  sub: string
  email: string
  email_verified: boolean
  groups?: string[]
}

const CLIENT = { id: 'shuntyard', secret: 'a secret of the client' }

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const closing = (server: Server) => async () => {
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
}

/** Follows a provider's own redirects, with its cookies, until it sends the browser back; returns the path. */
export async function visitProvider(url: string, gatewayPort: number): Promise<string> {
  const cookies = new Map<string, string>()
  for (let next = url; ; ) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`${next}: ${response.status} ${await response.text()}`)
    const target = new URL(location, next)
    if (target.port === String(gatewayPort)) return target.pathname + target.search
    next = target.href
  }
}

const settingsOf = (prefix: string, issuer: string) => ({
  [`${prefix}_ISSUER`]: issuer,
  [`${prefix}_CLIENT_ID`]: CLIENT.id,
  [`${prefix}_CLIENT_SECRET`]: CLIENT.secret,
})

/**
 * An OpenID Connect provider of this machine, at which everybody is the given user. PKCE is required.
 * @param options.prefix of the settings that name it
 */
export async function startOidcProvider(
  gatewayPort: number,
  { prefix = 'OIDC', callback = '/console/api/oauth/oidc/callback' } = {},
) {
  let provider: Provider | null = null
  let user: LocalUser = { sub: 'nobody', email: 'nobody@example.test', email_verified: true }
  const users = new Map<string, LocalUser>()
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/interaction/'))
      void provider!.interactionFinished(request, response, { login: { accountId: user.sub } })
    else provider!.callback()(request, response)
  })
  const issuer = await listen(server)
  provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`http://127.0.0.1:${gatewayPort}${callback}`],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'] },
    cookies: { keys: ['a key of the provider'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: async () => users.get(id) }),
    loadExistingGrant: async ({
      oidc: { client, session },
    }: {
      oidc: { client: { clientId: string }; session: { accountId: string } }
    }) => {
      const grant = new provider!.Grant({ clientId: client.clientId, accountId: session.accountId })
      grant.addOIDCScope('openid email')
      await grant.save()
      return grant
    },
  })
  return {
    environment: settingsOf(prefix, issuer),
    /** Who signs in from now on. */
    become(next: LocalUser) {
      user = next
      users.set(next.sub, next)
    },
    close: closing(server),
  }
}

/** A provider that signs whatever claims it is told to: for ID tokens that no honest provider sends. */
export async function startClaimsProvider(prefix: string) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  let claims: Record<string, unknown> = {}
  let signingKey = privateKey
  const idToken = () => {
    const body = `${base64url({ alg: 'RS256', kid: 'key' })}.${base64url(claims)}`
    return `${body}.${sign('sha256', Buffer.from(body), signingKey).toString('base64url')}`
  }
  const server = createServer((request, response) => {
    const answer = (body: unknown) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.url === '/jwks')
      return answer({
        keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'key', alg: 'RS256', use: 'sig' }],
      })
    if (request.url === '/token')
      return answer({ access_token: 'any', token_type: 'bearer', id_token: idToken() })
    return answer({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['RS256'],
    })
  })
  const issuer = await listen(server)
  const now = () => Math.floor(Date.now() / 1000)
  return {
    environment: settingsOf(prefix, issuer),
    /**
     * The query of the way back from an address to sign in at; the ID token is right but for the claims given, or signed by
     * a key that is not the provider's.
     */
    back(url: string, user: LocalUser, changes: Record<string, unknown> = {}, isForged = false): string {
      signingKey = isForged ? stranger.privateKey : privateKey
      const asked = new URL(url).searchParams
      const right = { iss: issuer, aud: CLIENT.id, nonce: asked.get('nonce'), iat: now(), exp: now() + 300 }
      claims = { ...right, ...user, ...changes }
      return `?${new URLSearchParams({ code: 'any', state: asked.get('state') ?? '' })}`
    },
    close: closing(server),
  }
}

/** GitHub, as far as signing in with it goes: one user, whose code is any; it checks the PKCE verifier. */
export async function startGithub() {
  const state = { user: { id: 1, email: 'cat@example.test', verified: true }, challenge: '' }
  const server = createServer(async (request, response) => {
    const answer = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const asked = new URL(request.url ?? '/', 'http://github')
    if (asked.pathname === '/login/oauth/authorize') {
      const back = new URL(asked.searchParams.get('redirect_uri') ?? '')
      state.challenge = asked.searchParams.get('code_challenge') ?? ''
      back.search = String(new URLSearchParams({ code: 'any', state: asked.searchParams.get('state') ?? '' }))
      response.writeHead(302, { location: back.href }).end()
    } else if (request.url === '/login/oauth/access_token') {
      const form = new URLSearchParams(await text(request))
      const digest = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url')
      const isRight = digest === state.challenge && form.get('client_secret') === CLIENT.secret
      answer(
        isRight
          ? { access_token: 'gho_test', token_type: 'bearer', scope: 'user:email' }
          : { error: 'bad_verification_code' },
      )
    } else if (request.headers.authorization !== 'Bearer gho_test') answer({}, 401)
    else if (request.url === '/user') answer({ id: state.user.id, login: 'cat' })
    else if (request.url === '/user/emails') {
      const { email, verified } = state.user
      const other = { email: 'other@example.test', primary: false, verified: true }
      answer([other, { email, primary: true, verified }])
    } else answer({}, 404)
  })
  const url = await listen(server)
  return {
    environment: {
      GITHUB_CLIENT_ID: CLIENT.id,
      GITHUB_CLIENT_SECRET: CLIENT.secret,
      GITHUB_URL: url,
      GITHUB_API_URL: url,
    },
    state,
    close: closing(server),
  }
}
