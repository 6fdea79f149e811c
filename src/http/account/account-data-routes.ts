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

/** What is stored of the account that is signed in: a copy of it, and its deletion. */
export const accountDataRoutes: FastifyPluginAsyncTypebox<AccountDataServices> = async (app, services) => {
  const { accountExport, accountDeletion, cookies, consoleSlots } = services
  const ofSession = { onRequest: [app.requireSession] }

  app.get('/account/export', ofSession, async (request, reply) => {
    const { account } = signedIn(request)
    const exported = await consoleSlots.run(account.id, () => accountExport(account))
    return reply
      .header('content-disposition', `attachment; filename="switchyard-${account.id}.json"`)
      .type('application/json')
      .send(JSON.stringify(exported, null, 2))
  })

  const deleting = { ...ofSession, schema: { body: DeleteAccountBody } }
  app.post('/account/delete', deleting, async (request, reply) => {
    const { current_password: password, forfeit_usd: forfeitUsd = null } = request.body
    await accountDeletion.delete(signedIn(request).account, password, forfeitUsd)
    cookies.clear(reply, 'account')
    return reply.code(204).send()
  })
}
