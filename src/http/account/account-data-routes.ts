import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { DeleteAccountBody } from '../../core/api/sessions.ts'
import type { AccountDeletion } from '../../operations/account-deletion.ts'
import type { AccountExport } from '../../operations/account-export.ts'
import { signedIn } from '../plugins/session.ts'
import type { SessionCookies } from '../session-cookie.ts'
import type { Slots } from '../slots.ts'

interface AccountDataServices {
  accountExport: AccountExport
  accountDeletion: AccountDeletion
  cookies: SessionCookies
  consoleSlots: Slots
}

/** What is stored of the person who is signed in: a copy of it, and its deletion. */
export const accountDataRoutes: FastifyPluginAsyncTypebox<AccountDataServices> = async (app, services) => {
  const { accountExport, accountDeletion, cookies, consoleSlots } = services
  const ofSession = { onRequest: [app.requireSession] }

  app.get('/account/export', ofSession, async (request, reply) => {
    const { person } = signedIn(request)
    const exported = await consoleSlots.run(person.id, () => accountExport(person))
    return reply
      .header('content-disposition', `attachment; filename="switchyard-${person.id}.json"`)
      .type('application/json')
      .send(JSON.stringify(exported, null, 2))
  })

  const deleting = { ...ofSession, schema: { body: DeleteAccountBody } }
  app.post('/account/delete', deleting, async (request, reply) => {
    const { current_password: password, forfeit_usd: forfeitUsd = null } = request.body
    await accountDeletion.delete(signedIn(request).person, password, forfeitUsd)
    cookies.clear(reply, 'account')
    return reply.code(204).send()
  })
}
