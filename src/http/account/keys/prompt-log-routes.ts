import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { StoredPromptLog } from '../../../calls/prompt-logs/prompt-log-store.ts'
import { PromptLogView } from '../../../core/api/calls.ts'
import { DeletedPromptLogs } from '../../../core/api/keys.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import { isoTime } from '../../../core/kernel/time.ts'
import { OfId } from '../../page.ts'
import { actingOn, mayUseKey } from '../../plugins/session.ts'

/** Prompts and completions of keys that log them: read and deleted only by people who may use the key. */
export const promptLogRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { promptLogStore: promptLogs } = app.calls
  const { keys } = app.accounts
  const ofSession = { onRequest: [app.requirePermission('keys')] }

  const reading = { ...ofSession, schema: { params: OfId, response: { 200: PromptLogView } } }
  app.get('/calls/:id/prompt-log', reading, async (request) => {
    const log = await promptLogs.find(actingOn(request).account.id, request.params.id)
    const key = log && (await keys.find(log.keyId))
    if (!log || !key || !mayUseKey(request, key))
      throw new ApiError('not_found', 'This call has no prompt log.')
    return promptLogView(log.open())
  })

  const deleting = { ...ofSession, schema: { params: OfId, response: { 200: DeletedPromptLogs } } }
  app.delete('/keys/:id/prompt-logs', deleting, async (request) => {
    const key = await keys.find(request.params.id)
    if (key?.accountId !== actingOn(request).account.id || !mayUseKey(request, key))
      throw new ApiError('not_found', 'This account has no key with this id.')
    const deleted = await promptLogs.deleteOfKey(key.id)
    await app.recordAction(request, 'key.prompt_logs_deleted', key.id, { name: key.name, deleted })
    return { deleted }
  })
}

const promptLogView = (log: StoredPromptLog): PromptLogView => ({
  call_id: log.callId,
  request: log.request,
  request_truncated: log.isRequestTruncated,
  answer: log.answer,
  answer_truncated: log.isAnswerTruncated,
  created_at: isoTime(log.createdAt),
  expires_at: isoTime(log.expiresAt),
})
