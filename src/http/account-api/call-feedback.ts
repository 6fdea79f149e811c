import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { CallRecord } from '../../billing/call-records/call-record.ts'
import { Feedback, FeedbackBody } from '../../core/api/calls.ts'
import { TASK_KINDS } from '../../core/auto/quality-figure.ts'
import { invalid } from '../../core/kernel/errors.ts'
import { callIdOfResponse } from '../../core/kernel/ids.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import { OfId } from '../page.ts'
import { standardKey } from '../plugins/authenticate.ts'
import { lookupSlots } from '../slots.ts'
import { type AccountAccess, bySession, noStore } from './account-access.ts'
import { settledCall } from './call-lists.ts'

const FEEDBACK_DAYS = 30
const BODY_LIMIT_BYTES = 1_024
const KEY_REFUSAL = 'Feedback needs an API key of the account that made the call.'
const IN_WORDS = { good: 1, bad: 0 }

/** POST /v1/generations/{id}/feedback: how well a call of `auto` was answered. Idempotent: the last score of a call counts. */
export const feedbackRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) =>
    app.register(feedbackBy, {
      path,
      access: {
        hooks: {
          onRequest: [app.requireKey, async (request) => void standardKey(request, KEY_REFUSAL)],
          onSend: noStore,
        },
        requester: (request) => {
          const { accountId } = standardKey(request, KEY_REFUSAL)
          return { accountId, holder: accountId, reader: 'owner' }
        },
      },
    })

/** POST /console/api/calls/:id/feedback: the same, by a signed-in person. */
export const consoleFeedbackRoute: FastifyPluginAsyncTypebox = async (app) =>
  app.register(feedbackBy, { path: '/calls/:id/feedback', access: bySession(app, 'keys') })

const feedbackBy: FastifyPluginAsyncTypebox<{ path: string; access: AccountAccess }> = async (
  app,
  { path, access },
) => {
  const { clock } = app.accounts
  const { reports, putFeedback } = app.billing
  const slots = lookupSlots()
  const schema = {
    summary: 'How well a call of `auto` was answered',
    params: OfId,
    body: FeedbackBody,
    response: { 200: Feedback },
  }
  app.post(path, { ...access.hooks, bodyLimit: BODY_LIMIT_BYTES, schema }, async (request) => {
    const { accountId, holder } = access.requester(request)
    const { score } = request.body
    const outcome = typeof score === 'number' ? score : IN_WORDS[score]
    return slots.run(holder, async () => {
      const id = callIdOfResponse(request.params.id)
      const call = await settledCall(reports, id, accountId, ' Send the `id` of a response.')()
      await putFeedback({ ...routedCall(call, clock()), outcome })
      return { id: call.id, object: 'generation.feedback' as const, score: outcome }
    })
  })
}

/** The choice of `auto` that feedback judges. Throws ApiError 400 for a call without one, and for one that is too old. */
function routedCall(call: CallRecord, now: number) {
  if (call.admittedAt < now - FEEDBACK_DAYS * DAY_MS)
    throw invalid('id', `Feedback is taken within ${FEEDBACK_DAYS} days of a call.`)
  const kind = TASK_KINDS.find((known) => known === call.autoKind)
  if (kind === undefined) throw invalid('id', 'This call named its model. Feedback is for calls of `auto`.')
  if (call.servedModelId === null) throw invalid('id', 'This call delivered nothing that could be judged.')
  return { callId: call.id, accountId: call.accountId, kind, modelId: call.servedModelId }
}
