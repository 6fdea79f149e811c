import { pino } from 'pino'
import { expect, test } from 'vitest'
import { plainKey } from '../../../src/accounts/key-cache.ts'
import type { AdmissionReply } from '../../../src/billing/holds/admission.ts'
import { type AdmissionDependencies, admitCall } from '../../../src/calls/api/admit-call.ts'
import { createCleanupTasks } from '../../../src/calls/cleanup-tasks.ts'
import { chooseAutoModels } from '../../../src/core/auto/auto-routing.ts'
import type { CallJob, Candidate } from '../../../src/core/calls/call-job.ts'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import type { CallContent } from '../../../src/core/calls/kinds/call-kinds.ts'
import { newCallId } from '../../../src/core/kernel/ids.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import type { CallPlan } from '../../../src/core/routing/call-plan.ts'
import { UNKNOWN_OFFER_STATE } from '../../../src/core/routing/offer-preferences.ts'
import { snapshot } from '../../helpers/planned-catalog.ts'
import { stubOf } from '../../helpers/stub-of.ts'

const REQUEST = parseChatRequest({ model: 'test/plain', messages: [{ role: 'user', content: 'Go.' }] })
const PLAN: CallPlan = {
  candidates: [],
  worstCase: picoUsd(100n),
  dearestPrompt: picoUsd(10n),
  dearestCompletionRate: 1n,
  completionLimit: 90,
  promptTokens: 10,
}
const RATE = { limitRequests: 1, remainingRequests: 1, remainingTokens: 1, resetMs: 0 }
const ADMITTED = {
  kind: 'admitted',
  first: 0,
  holdPico: 100n,
  completionLimit: 90,
  accountOpenCalls: 1,
  rate: RATE,
} as const
const LOADED = { kind: 'balance-unknown', rate: RATE } as const

/** Admits a call with these answers of Redis, in their order, beside a worker that has one slot. */
async function admit(
  answers: Array<AdmissionReply | Error>,
  idempotencyRecord: string | null = null,
  plan = PLAN,
) {
  const seen = { taken: 0, givenBack: 0, ran: [] as Array<[CallJob, CallContent]>, claims: [] as unknown[] }
  const deps = {
    catalog: () => snapshot([]),
    admit: async ({ job }) => {
      seen.claims.push(job?.claim?.token)
      const answer = answers.shift()!
      if (answer instanceof Error) throw answer
      return answer
    },
    loadBalance: async () => undefined,
    loadAllowance: async () => undefined,
    releaseHold: async () => undefined,
    undoAdmission: async () => undefined,
    noteLimitReached: () => undefined,
    sealBody: (_, body) => `sealed ${body}`,
    hub: { expect: () => undefined, forget: () => undefined, untilReceiving: async () => undefined },
    takeSlot: () => {
      seen.taken++
      return {
        token: 'worker',
        lockMs: 1_000,
        run: (job, content) => void seen.ran.push([job, content]),
        giveBack: () => void seen.givenBack++,
      }
    },
    cleanup: createCleanupTasks(pino({ level: 'silent' })),
    limits: {
      tokensPerMinute: 1_000,
      queueWaitMs: 1_000,
      accountQueueShare: 1,
    } as AdmissionDependencies['limits'],
    replyChannel: 'here',
    offerStates: () => () => UNKNOWN_OFFER_STATE,
    chooseAutoModels,
    epoch: () => 'epoch',
    durabilityToken: () => 'token',
    topUpUrl: '',
    clock: () => 0,
    random: () => 0,
  } satisfies AdmissionDependencies
  const caller = { key: plainKey('acct_1', 'key_1'), requestId: 'r', bodyBytes: 0 }
  const known = { callId: newCallId(), idempotencyRecord, plan }
  await admitCall(REQUEST, caller, known, deps).catch(() => undefined)
  return seen
}

test('a call that was claimed with its admission runs once in the slot, and its content is not in its job', async () => {
  const { ran, ...seen } = await admit([{ ...ADMITTED, isEnqueued: true, isClaimed: true, first: 0 }])
  expect(seen).toEqual({ taken: 1, givenBack: 0, claims: ['worker'] })
  expect(ran).toEqual([[expect.objectContaining({ sealedBody: null }), REQUEST.content]])
})

test('one that is asked for again names the same slot', async () => {
  const seen = await admit([LOADED, { ...ADMITTED, isEnqueued: true, isClaimed: true, first: 0 }])
  expect(seen).toMatchObject({
    taken: 1,
    givenBack: 0,
    claims: ['worker', 'worker'],
    ran: [expect.anything()],
  })
})

test.each<[what: string, answer: AdmissionReply | Error]>([
  ['is admitted while others wait', { ...ADMITTED, isEnqueued: false, isClaimed: false }],
  ['was granted less than it asks for', { ...ADMITTED, isEnqueued: false, isClaimed: false }],
  ['is refused', { kind: 'too-many-open', retryAfterMs: 1, scope: 'key', rate: RATE }],
  ['is in doubt, since the answer was lost', new Error('the connection is gone')],
])('the slot of a call that %s is given back', async (_, answer) => {
  expect(await admit([answer])).toMatchObject({ taken: 1, givenBack: 1, ran: [] })
})

test('a call with an Idempotency-Key, which must be confirmed first, takes no slot', async () => {
  const seen = await admit([{ ...ADMITTED, isEnqueued: false, isClaimed: false }], 'digest')
  expect(seen).toMatchObject({ taken: 0, givenBack: 0, claims: [undefined], ran: [] })
})

test('a call of the lane flex takes no slot, and waits in the queue behind others', async () => {
  const candidates = [stubOf<Candidate>({ tier: { name: 'flex', percent: 50, usual: {} as never } })]
  const seen = await admit([{ ...ADMITTED, isEnqueued: true, isClaimed: false }], null, {
    ...PLAN,
    candidates,
  })
  expect(seen).toMatchObject({ taken: 0, givenBack: 0, claims: [undefined], ran: [] })
})
