import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../accounts/account-store.ts'
import { type ReadResponse, wantedWhole } from '../../calls/stored-responses/stored-response-store.ts'
import { ClearedCache, DeleteAccountBody } from '../../core/api/sessions.ts'
import { jsonArrayOf, readStored } from '../account-api/stored-reads.ts'
import { actingOn, signedIn } from '../plugins/session.ts'
import { createWindowLimit } from '../window-limit.ts'
import { organisationOf } from './organisations/acting-organisation.ts'

const EXPORTS_PER_HOUR = 20

/** An export with stored responses as they are stored, since parsing and writing them again would take long. */
const withResponses = (exported: string, turns: readonly ReadResponse[]): Buffer =>
  Buffer.concat([
    Buffer.from(`${exported.slice(0, exported.lastIndexOf('\n}'))},\n  "stored_responses": `),
    jsonArrayOf(
      turns.flatMap(({ response, input }) =>
        Buffer.concat([
          Buffer.from('{"response":'),
          response,
          Buffer.from(',"input":'),
          input,
          Buffer.from('}'),
        ]),
      ),
    ),
    Buffer.from('\n}'),
  ])

/** Export and deletion of the stored data, and of the cached responses, of the signed-in person, and of the session's organisation. */
export const accountDataRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { storedResponses } = app.calls
  const { accountExport, accountDeletion, clearCachedResponses, cookies, clock } = app.accounts
  const { consoleSlots } = app.billing
  const ofSession = { onRequest: [app.requireSession] }
  const ofOwner = { onRequest: [app.requirePermission('ownership')] }
  const deleting = { schema: { body: DeleteAccountBody } }

  const exports = createWindowLimit({
    max: EXPORTS_PER_HOUR,
    windowMs: 3_600_000,
    refusal: 'This account was exported several times within an hour. Wait, then retry.',
    clock,
  })

  const sendExport = async (request: FastifyRequest, reply: FastifyReply, account: Account) => {
    const { id } = account
    exports.take(id)
    const file = await consoleSlots.run(id, async () => {
      const exported = JSON.stringify(await accountExport(account), null, 2)
      const wanted = (await storedResponses.latest(id)).map(wantedWhole)
      const turns = await readStored(request, { store: storedResponses, accountId: id }, wanted)
      return withResponses(exported, turns)
    })
    return reply
      .header('content-disposition', `attachment; filename="shuntyard-${id}.json"`)
      .type('application/json')
      .send(file)
  }
  const confirmed = ({ current_password: password, forfeit_usd: forfeitUsd }: DeleteAccountBody) => ({
    password,
    forfeitUsd: forfeitUsd ?? null,
  })

  app.get('/account/export', { onRequest: [app.requireSession, app.weighBody] }, (request, reply) =>
    sendExport(request, reply, signedIn(request).person),
  )

  app.post('/account/delete', { ...ofSession, ...deleting }, async (request, reply) => {
    const { person } = signedIn(request)
    await accountDeletion.delete(person, { personId: person.id, ...confirmed(request.body) })
    cookies.clear(reply, 'account')
    return reply.code(204).send()
  })

  const clearing = { onRequest: [app.requirePermission('keys')], schema: { response: { 200: ClearedCache } } }
  app.delete('/cached-responses', clearing, async (request) => {
    const { id } = actingOn(request).account
    const deleted = await clearCachedResponses(id)
    if (deleted > 0) await app.recordAction(request, 'cached_responses.deleted', id, { deleted })
    return { deleted }
  })

  app.get('/organisation/export', { onRequest: [...ofOwner.onRequest, app.weighBody] }, (request, reply) =>
    sendExport(request, reply, organisationOf(request)),
  )

  app.post('/organisation/delete', { ...ofOwner, ...deleting }, async (request, reply) => {
    const { person } = signedIn(request)
    await accountDeletion.delete(organisationOf(request), {
      personId: person.id,
      ...confirmed(request.body),
    })
    return reply.code(204).send()
  })
}
