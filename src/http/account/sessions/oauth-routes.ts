import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { OauthOutcome } from '../../../accounts/identity/oauth-sign-in.ts'
import { IdentityList, OauthBody, RedirectView } from '../../../core/api/identities.ts'
import { ConfirmedBody } from '../../../core/api/second-factor.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import { isoTime } from '../../../core/kernel/time.ts'
import { signedIn } from '../../plugins/session.ts'
import { fromOwnPages } from '../../same-origin.ts'
import { clientOf } from './session-replies.ts'
import { verifiedPerson } from './verified-person.ts'

const OfProvider = Type.Object({ provider: Type.String({ maxLength: 20 }) })
/** The same duration as its step. */
const COOKIE_MS = 10 * 60_000

/** Sign-in with identity providers, and the linked identities of an account. */
export const oauthRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { oauth, cookies, sessionMs } = app.accounts
  const ours = fromOwnPages(app.accounts.publicUrl)
  const ofSession = { onRequest: [app.requireSession] }
  /** The base path of the gateway for browsers. */
  const basePath = pathOf(app.accounts.publicUrl)
  /** The cookie binds the return to this browser. */
  const send = (reply: FastifyReply, { url, token }: { url: string; token: string }): { url: string } => {
    cookies.write(reply, 'oauth', token, new Date(Date.now() + COOKIE_MS))
    return { url }
  }

  // By POST, so that another site cannot start it in a visitor's browser.
  const beginning = {
    ...ours,
    schema: { params: OfProvider, body: OauthBody, response: { 200: RedirectView } },
  }
  app.post('/oauth/:provider', beginning, async (request, reply) =>
    send(reply, await oauth.begin(request.params.provider, request.body.next ?? null, clientOf(request))),
  )

  const linking = {
    ...ofSession,
    schema: { params: OfProvider, body: ConfirmedBody, response: { 200: RedirectView } },
  }
  app.post('/identities/:provider', linking, async (request, reply) => {
    const { current_password: password } = request.body
    return send(
      reply,
      await oauth.beginLink(request.params.provider, verifiedPerson(request, app.accounts).id, password),
    )
  })

  app.get('/oauth/:provider/callback', { schema: { params: OfProvider } }, async (request, reply) => {
    const { provider } = request.params
    const back = { token: cookies.read(request, 'oauth'), query: new URL(request.url, 'http://x').search }
    cookies.clear(reply, 'oauth')
    const outcome = await oauth
      .finish(provider, back, clientOf(request))
      .catch((error: unknown): OauthOutcome => {
        // The browser shows this response as a page, so a problem is a redirect instead of JSON.
        if (error instanceof ApiError) return { kind: 'problem', problem: 'failed', isLinking: false }
        throw error
      })
    if (outcome.kind === 'begun')
      cookies.write(reply, 'account', outcome.token, new Date(Date.now() + sessionMs))
    return reply.redirect(basePath + pageAfter(outcome))
  })

  app.get('/identities', { ...ofSession, schema: { response: { 200: IdentityList } } }, async (request) => {
    const found = await oauth.list(signedIn(request).person.id)
    return {
      data: found.map(({ provider, email, createdAt }) => ({
        provider,
        email,
        created_at: isoTime(createdAt),
      })),
    }
  })

  const removing = { ...ofSession, schema: { params: OfProvider, body: ConfirmedBody } }
  app.post('/identities/:provider/remove', removing, async (request, reply) => {
    const { current_password: password } = request.body
    await oauth.unlink(signedIn(request).person.id, request.params.provider, password)
    return reply.code(204).send()
  })
}

const pathOf = (address: string | null): string =>
  address !== null && URL.canParse(address) ? new URL(address).pathname.replace(/\/+$/, '') : ''

/** The next page. The token of a step follows `#`, so that no server logs it. */
function pageAfter(outcome: OauthOutcome): string {
  switch (outcome.kind) {
    case 'begun':
      return outcome.next ?? '/dashboard'
    case 'second_factor': {
      const query = outcome.next === null ? '' : `?next=${encodeURIComponent(outcome.next)}`
      return `/sign-in${query}#step=${outcome.step}`
    }
    case 'linked':
      return '/settings'
    case 'problem':
      return `${outcome.isLinking ? '/settings' : '/sign-in'}?problem=${outcome.problem}`
    default:
      return outcome satisfies never
  }
}
