import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type {
  InvitationPointer,
  ReceivedInvitation,
} from '../../../accounts/organisation/invitation-store.ts'
import { jsonView } from '../../../core/api/json-view.ts'
import { InvitationAnswer, InvitationToken, ReceivedInvitationView } from '../../../core/api/organisations.ts'
import { SessionView } from '../../../core/api/sessions.ts'
import { ApiError, invalid } from '../../../core/kernel/errors.ts'
import { signedIn } from '../../plugins/session.ts'
import { fromOwnPages } from '../../same-origin.ts'
import { sessionView } from '../account-view.ts'

/** Invitations to organisations, for invited people. */
export const invitationRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { invitationStore, invitations, members, sessions, throttle } = app.accounts
  const ofSession = { onRequest: [app.requireSession] }

  const looking = {
    ...fromOwnPages(app.accounts.publicUrl),
    schema: { body: InvitationToken, response: { 200: ReceivedInvitationView } },
  }
  app.post('/invitations/look', looking, async (request) => {
    await throttle.verification(request.ip)
    return receivedView(await invitationStore.ofLink(request.body.token))
  })

  const accepting = { ...ofSession, schema: { body: InvitationAnswer, response: { 200: SessionView } } }
  app.post('/invitations/accept', accepting, async (request) => {
    await throttle.verification(request.ip)
    const { person, stored } = signedIn(request)
    const { accountId } = await invitations.accept(person, pointerOf(request.body))
    const joined = await members.find(accountId, person.id)
    if (!joined) throw new ApiError('conflict', 'This organisation is suspended.')
    await sessions.actOn(stored.id, accountId)
    request.actingSession = { stored, person, ...joined }
    await app.recordAction(request, 'member.joined', person.id, { role: joined.role })
    return sessionView({ person, ...joined }, app)
  })

  const declining = { ...ofSession, schema: { body: InvitationAnswer } }
  app.post('/invitations/decline', declining, async (request, reply) => {
    await throttle.verification(request.ip)
    await invitationStore.answer(signedIn(request).person, pointerOf(request.body), false)
    return reply.code(204).send()
  })
}

function pointerOf({ token, id }: InvitationAnswer): InvitationPointer {
  if (token !== undefined && id === undefined) return { token }
  if (id !== undefined && token === undefined) return { id }
  throw invalid('token', 'Send `token` or `id`.')
}

export const receivedView = (invitation: ReceivedInvitation): ReceivedInvitationView =>
  jsonView(ReceivedInvitationView, { ...invitation, invitedBy: invitation.invitedByEmail })
