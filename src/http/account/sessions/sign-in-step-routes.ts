import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { AuthenticationResponseJSON } from '../../../accounts/second-factor/passkeys.ts'
import type { AskedFactor } from '../../../accounts/sign-in-service.ts'
import {
  PasskeyAsked,
  PasskeyBody,
  SecondFactorAsked,
  SecondFactorBody,
  StepBody,
} from '../../../core/api/second-factor.ts'
import { SessionView } from '../../../core/api/sessions.ts'
import { invalid } from '../../../core/kernel/errors.ts'
import { fromOwnPages } from '../../same-origin.ts'
import { passkeySite } from './passkey-site.ts'
import { clientOf, sessionReplies } from './session-replies.ts'

/** The second step of a sign-in, and sign-in with a passkey alone. */
export const signInStepRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { signIn, publicUrl } = app.accounts
  const { begun } = sessionReplies(app)
  const ours = fromOwnPages(publicUrl)

  const looking = { ...ours, schema: { body: StepBody, response: { 200: SecondFactorAsked } } }
  app.post('/sign-in/asked', looking, async (request) => {
    const site = passkeySite(request, publicUrl)
    const { step, hasTotp, passkey } = await signIn.asked(request.body.step, site, clientOf(request))
    return { step, totp: hasTotp, passkey: passkey && { ...passkey } }
  })

  const giving = { ...ours, schema: { body: SecondFactorBody, response: { 200: SessionView } } }
  app.post('/sign-in/second-factor', giving, async (request, reply) => {
    const { step } = request.body
    const asked = { step, given: readFactor(request.body), site: passkeySite(request, publicUrl) }
    return begun(reply, await signIn.giveSecondFactor(asked, clientOf(request)))
  })

  const asking = { ...ours, schema: { response: { 200: PasskeyAsked } } }
  app.post('/sign-in/passkey-options', asking, async (request) => {
    const { step, options } = await signIn.askPasskey(passkeySite(request, publicUrl), clientOf(request))
    return { step, options: { ...options } }
  })

  const signingIn = { ...ours, schema: { body: PasskeyBody, response: { 200: SessionView } } }
  app.post('/sign-in/passkey', signingIn, async (request, reply) => {
    const { step, passkey } = request.body
    const response = passkey as unknown as AuthenticationResponseJSON
    const given = { step, response, site: passkeySite(request, publicUrl) }
    return begun(reply, await signIn.givePasskey(given, clientOf(request)))
  })
}

function readFactor({ code, recovery_code: recoveryCode, passkey }: SecondFactorBody): AskedFactor {
  const given = [code, recoveryCode, passkey].filter((factor) => factor !== undefined)
  if (given.length !== 1) throw invalid('code', 'Send exactly one of `code`, `recovery_code` and `passkey`.')
  if (code !== undefined) return { kind: 'totp', code }
  if (recoveryCode !== undefined) return { kind: 'recovery_code', code: recoveryCode }
  return { kind: 'passkey', response: passkey as unknown as AuthenticationResponseJSON }
}
