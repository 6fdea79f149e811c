import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { RegistrationResponseJSON } from '../../../accounts/second-factor/passkeys.ts'
import { jsonView } from '../../../core/api/json-view.ts'
import {
  ConfirmedBody,
  NewPasskeyBody,
  NewRecoveryCodes,
  NewTotp,
  PasskeyAsked,
  SecondFactorView,
  TotpCodeBody,
} from '../../../core/api/second-factor.ts'
import { signedIn } from '../../plugins/session.ts'
import { passkeySite } from './passkey-site.ts'
import { verifiedPerson } from './verified-person.ts'

const PasskeyView = SecondFactorView.properties.passkeys.items
const OfPasskey = Type.Object({ id: Type.String({ maxLength: 1_400 }) })

/** The second factor of the signed-in person: an app with one-time codes, passkeys, and recovery codes. */
export const secondFactorRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { secondFactor, publicUrl, isDelivered } = app.accounts
  const ofSession = { onRequest: [app.requireSession] }

  const viewing = { ...ofSession, schema: { response: { 200: SecondFactorView } } }
  app.get('/second-factor', viewing, async (request) => {
    const { totp, passkeys, codesLeft } = await secondFactor.status(signedIn(request).person.id)
    return {
      totp,
      passkeys: passkeys.map((passkey) => jsonView(PasskeyView, passkey)),
      recovery_codes_left: codesLeft,
    }
  })

  const beginning = { ...ofSession, schema: { body: ConfirmedBody, response: { 201: NewTotp } } }
  app.post('/second-factor/totp', beginning, async (request, reply) => {
    const begun = await secondFactor.beginTotp(
      verifiedPerson(request, { isDelivered }),
      request.body.current_password,
    )
    return reply.code(201).send(begun)
  })

  const confirming = { ...ofSession, schema: { body: TotpCodeBody, response: { 200: NewRecoveryCodes } } }
  app.post('/second-factor/totp/confirm', confirming, async (request) => ({
    recovery_codes: await secondFactor.confirmTotp(signedIn(request).person.id, request.body.code),
  }))

  const confirmed = { ...ofSession, schema: { body: ConfirmedBody } }
  app.post('/second-factor/totp/remove', confirmed, async (request, reply) => {
    await secondFactor.removeTotp(signedIn(request).person.id, request.body.current_password)
    return reply.code(204).send()
  })

  const asking = { ...ofSession, schema: { body: ConfirmedBody, response: { 200: PasskeyAsked } } }
  app.post('/second-factor/passkey-options', asking, async (request) => {
    const person = verifiedPerson(request, { isDelivered })
    const site = passkeySite(request, publicUrl)
    const { step, options } = await secondFactor.beginPasskey(site, person, request.body.current_password)
    return { step, options: { ...options } }
  })

  const adding = { ...ofSession, schema: { body: NewPasskeyBody, response: { 200: NewRecoveryCodes } } }
  app.post('/second-factor/passkeys', adding, async (request) => {
    const { step, name, passkey } = request.body
    const given = { step, name, response: passkey as unknown as RegistrationResponseJSON }
    const accountId = signedIn(request).person.id
    return {
      recovery_codes: await secondFactor.addPasskey(passkeySite(request, publicUrl), accountId, given),
    }
  })

  const ofPasskey = { ...ofSession, schema: { params: OfPasskey, body: ConfirmedBody } }
  app.post('/second-factor/passkeys/:id/remove', ofPasskey, async (request, reply) => {
    const { current_password: password } = request.body
    await secondFactor.removePasskey(signedIn(request).person.id, request.params.id, password)
    return reply.code(204).send()
  })

  const replacing = { ...ofSession, schema: { body: ConfirmedBody, response: { 200: NewRecoveryCodes } } }
  app.post('/second-factor/recovery-codes', replacing, async (request) => ({
    recovery_codes: await secondFactor.replaceCodes(
      signedIn(request).person.id,
      request.body.current_password,
    ),
  }))
}
