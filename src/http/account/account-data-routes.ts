import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { Account } from '../../accounts/account-store.ts'
import { DeleteAccountBody } from '../../core/api/sessions.ts'
import { signedIn } from '../plugins/session.ts'
import { createWindowLimit } from '../window-limit.ts'
import { organisationOf } from './organisations/acting-organisation.ts'

const EXPORTS_PER_HOUR = 20

/** Export and deletion of the stored data of the signed-in person, and of the session's organisation. */
export const accountDataRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { accountExport, accountDeletion, cookies, consoleSlots, clock } = app.services
  const ofSession = { onRequest: [app.requireSession] }
  const ofOwner = { onRequest: [app.requirePermission('ownership')] }
  const deleting = { schema: { body: DeleteAccountBody } }

  const exports = createWindowLimit({
    max: EXPORTS_PER_HOUR,
    windowMs: 3_600_000,
    refusal: 'This account was exported several times within an hour. Wait, then retry.',
    clock,
  })

  const sendExport = async (reply: FastifyReply, account: Account) => {
    exports.take(account.id)
    const exported = await consoleSlots.run(account.id, () => accountExport(account))
    return reply
      .header('content-disposition', `attachment; filename="switchyard-${account.id}.json"`)
      .type('application/json')
      .send(JSON.stringify(exported, null, 2))
  }
  const confirmed = ({ current_password: password, forfeit_usd: forfeitUsd }: DeleteAccountBody) => ({
    password,
    forfeitUsd: forfeitUsd ?? null,
  })

  app.get('/account/export', ofSession, (request, reply) => sendExport(reply, signedIn(request).person))

  app.post('/account/delete', { ...ofSession, ...deleting }, async (request, reply) => {
    const { person } = signedIn(request)
    await accountDeletion.delete(person, { personId: person.id, ...confirmed(request.body) })
    cookies.clear(reply, 'account')
    return reply.code(204).send()
  })

  app.get('/organisation/export', ofOwner, (request, reply) => sendExport(reply, organisationOf(request)))

  app.post('/organisation/delete', { ...ofOwner, ...deleting }, async (request, reply) => {
    const { person } = signedIn(request)
    await accountDeletion.delete(organisationOf(request), {
      personId: person.id,
      ...confirmed(request.body),
    })
    return reply.code(204).send()
  })
}
