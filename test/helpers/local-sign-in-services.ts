import { createHash } from 'node:crypto'
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
}

const CLIENT = { id: 'switchyard', secret: 'a secret of the client' }

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const closing = (server: Server) => async () => {
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
}

/** An OpenID Connect provider of this machine, at which everybody is the given user. PKCE is required. */
export async function startOidcProvider(gatewayPort: number) {
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
        redirect_uris: [`http://127.0.0.1:${gatewayPort}/console/api/oauth/oidc/callback`],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
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
    environment: { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET: CLIENT.secret },
    /** Who signs in from now on. */
    become(next: LocalUser) {
      user = next
      users.set(next.sub, next)
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
