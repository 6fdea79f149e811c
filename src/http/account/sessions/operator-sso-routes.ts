import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { OperatorSignInOutcome } from '../../../accounts/operators/operator-sign-in.ts'
import { OauthBody, RedirectView } from '../../../core/api/identities.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import { publicPathOf } from '../../public-path.ts'
import { fromOwnPages } from '../../same-origin.ts'
import { clientOf } from './session-replies.ts'

const PATH = '/admin/api/sso'
/** The same duration as its step. */
const COOKIE_MS = 10 * 60_000

/**
 * POST /admin/api/sso sends an operator's browser to the single sign-on provider; GET …/callback takes it back. None
 * where no provider is configured.
 */
export const operatorSsoRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { cookies, publicUrl } = app.accounts
  const { operatorSignIn } = app.operators
  if (operatorSignIn === null) return
  const basePath = publicPathOf(publicUrl)

  // By POST, so that another site cannot start it in a visitor's browser.
  const beginning = {
    ...fromOwnPages(publicUrl),
    schema: { body: OauthBody, response: { 200: RedirectView } },
  }
  app.post(PATH, beginning, async (request, reply) => {
    const { url, token } = await operatorSignIn.begin(request.body.next ?? null, clientOf(request))
    // The cookie binds the return to this browser.
    cookies.write(reply, 'operator_sso', token, new Date(Date.now() + COOKIE_MS))
    return { url }
  })

  app.get(`${PATH}/callback`, async (request, reply) => {
    const back = {
      token: cookies.read(request, 'operator_sso'),
      query: new URL(request.url, 'http://x').search,
    }
    cookies.clear(reply, 'operator_sso')
    const outcome = await operatorSignIn
      .finish(back, clientOf(request))
      .catch((error: unknown): OperatorSignInOutcome => {
        // The browser shows this response as a page, so a problem is a redirect instead of JSON.
        if (error instanceof ApiError) return { kind: 'problem', problem: 'failed' }
        throw error
      })
    if (outcome.kind === 'problem')
      return reply.redirect(`${basePath}/admin/sign-in?problem=${outcome.problem}`)
    cookies.write(reply, 'operator', outcome.token, outcome.expiresAt)
    return reply.redirect(basePath + (outcome.next?.startsWith('/admin') ? outcome.next : '/admin'))
  })
}
