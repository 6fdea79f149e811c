import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import Bowser from 'bowser'
import type { ListedSession } from '../../../accounts/session-store.ts'
import { jsonView } from '../../../core/api/json-view.ts'
import { SessionEntry, SessionList } from '../../../core/api/sessions.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import { OfId } from '../../page.ts'
import { signedIn } from '../../plugins/session.ts'

export const sessionListRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { sessions } = app.accounts
  const ofSession = { onRequest: [app.requireSession] }

  app.get('/sessions', { ...ofSession, schema: { response: { 200: SessionList } } }, async (request) => {
    const { person, stored } = signedIn(request)
    const found = await sessions.list(person.id)
    return { data: found.map((session) => entryOf(session, stored.id)) }
  })

  app.delete('/sessions/:id', { ...ofSession, schema: { params: OfId } }, async (request, reply) => {
    const isEnded = await sessions.endOf(signedIn(request).person.id, request.params.id)
    if (!isEnded) throw new ApiError('not_found', 'This account has no session with this id.')
    return reply.code(204).send()
  })

  app.delete('/sessions', ofSession, async (request, reply) => {
    const { person, stored } = signedIn(request)
    await sessions.endOthers(person.id, stored.id)
    return reply.code(204).send()
  })
}

const entryOf = (session: ListedSession, currentId: string): SessionEntry =>
  jsonView(SessionEntry, {
    ...session,
    current: session.id === currentId,
    device: deviceOf(session.userAgent),
  })

function deviceOf(userAgent: string): string {
  if (userAgent === '') return ''
  const { browser, os } = Bowser.parse(userAgent)
  return [browser.name, os.name].filter(Boolean).join(' on ')
}
