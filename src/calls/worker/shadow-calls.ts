import { Counter, type Registry } from 'prom-client'
import {
  checkedAnswer,
  isComparable,
  judgeMessages,
  readVerdict,
  shadowModels,
} from '../../core/auto/shadow.ts'
import { costOf, mostPromptCost } from '../../core/billing/pricing.ts'
import { settlementOf } from '../../core/billing/settlement.ts'
import type { CallEnvelope, SettlementRecord } from '../../core/calls/call-job.ts'
import type { ChatContent, ChatMessage } from '../../core/calls/chat-request.ts'
import { chatNeeds } from '../../core/calls/kinds/chat.ts'
import { parsePreferences } from '../../core/calls/provider-preferences.ts'
import type { CatalogSnapshot, Model } from '../../core/catalog/catalog.ts'
import { readRates } from '../../core/catalog/token-rates.ts'
import { newCallId } from '../../core/kernel/ids.ts'
import { planRoute } from '../../core/routing/routing-plan.ts'
import { promptBoundOf } from '../../core/text-tokens/prompt-tokens.ts'
import { causeOf, type Logger } from '../../platform/observability/logger.ts'
import type { createOutcomeStore } from '../../routing/learning/outcome-store.ts'
import type { AttemptChain } from './attempts/attempt-chain.ts'
import type { ShadowSpend } from './shadow-spend.ts'

/** A completed call of `auto` that is to have a shadow. */
export interface ShadowedCall {
  envelope: CallEnvelope
  messages: readonly ChatMessage[]
  completion: string
  record: SettlementRecord
}

interface ShadowDependencies {
  chain: AttemptChain
  catalog: () => CatalogSnapshot
  spend: ShadowSpend
  outcomes: Pick<ReturnType<typeof createOutcomeStore>, 'putPair'>
  registry: Registry
  logger: Logger
  clock: () => number
  random: () => number
}

type ShadowResult = 'compared' | 'equal' | 'dropped' | 'over-budget' | 'not-comparable' | 'failed'

/** A flood of calls has few shadows: so many wait in this process, one runs, and the others are dropped. */
const WAITING_MAX = 8
const ANSWER_TOKENS_MAX = 4_096
const JUDGE_TOKENS_MAX = 2_048
const REQUEST_TIMEOUT_MS = 120_000
/** The name of shadows where calls have an account: they have no part in the health of offers for an account. */
const SHADOW = 'shadow'
const PICO_PER_USD = 1e12

export type ShadowCalls = ReturnType<typeof createShadowCalls>

/**
 * Answers sampled calls a second time and stores how the two completions compare. It begins when the call has ended, in
 * memory: prompts and completions are stored nowhere, and what waits when the process ends is lost.
 */
export function createShadowCalls(deps: ShadowDependencies) {
  const { logger, registry } = deps
  const counter = new Counter({
    name: 'switchyard_shadow_calls_total',
    help: 'Calls of auto that were chosen to be answered a second time, by result.',
    labelNames: ['result'],
    registers: [registry],
  })
  const cost = new Counter({
    name: 'switchyard_shadow_cost_usd_total',
    help: "What shadows cost the operator at providers, in USD, judges' requests included.",
    registers: [registry],
  })
  const stopping = new AbortController()
  const waiting: ShadowedCall[] = []
  let running: Promise<void> | null = null

  const spent = (pico: bigint) => cost.inc(Number(pico) / PICO_PER_USD)
  const runWaiting = async () => {
    for (let call = waiting.shift(); call && !stopping.signal.aborted; call = waiting.shift()) {
      try {
        counter.inc({ result: await runShadow(call, { ...deps, signal: stopping.signal, spent }) })
      } catch (error) {
        counter.inc({ result: 'failed' })
        logger.warn({ cause: causeOf(error), callId: call.envelope.id }, 'shadow failed')
      }
    }
    running = null
  }
  return {
    offer(call: ShadowedCall): void {
      if (stopping.signal.aborted || waiting.length >= WAITING_MAX) return counter.inc({ result: 'dropped' })
      waiting.push(call)
      running ??= runWaiting()
    },

    /** Ends what runs, and drops what waits. */
    async stop(): Promise<void> {
      stopping.abort()
      waiting.length = 0
      await running
    },
  }
}

type RunDependencies = ShadowDependencies & { signal: AbortSignal; spent: (pico: bigint) => void }

async function runShadow(call: ShadowedCall, deps: RunDependencies): Promise<ShadowResult> {
  const { envelope, messages, completion, record } = call
  const { auto } = envelope
  if (!auto?.kind || !record.served || !isComparable(messages, completion)) return 'not-comparable'
  const { modelId } = record.served
  const prompt = { ...plainChat(messages), routingProfile: auto.profile }
  const models = shadowModels(prompt, modelId, deps.catalog(), deps.random)
  if (!models || (models.judge === null && checkedAnswer(auto.kind, completion) === null))
    return 'not-comparable'
  const other = await ask(models.other, messages, ANSWER_TOKENS_MAX, deps)
  if (typeof other === 'string') return other
  if (!isComparable(messages, other.completion)) return 'not-comparable'
  const known = checkedAnswer(auto.kind, completion)
  const isEqual = known !== null && known === checkedAnswer(auto.kind, other.completion)
  const verdict = isEqual ? EQUAL : await judged(models.judge, messages, [completion, other.completion], deps)
  if (typeof verdict === 'string') return verdict
  const { outcomeVector } = await import('../../routing/learning/outcome-vector.ts')
  await deps.outcomes.putPair({
    callId: envelope.id,
    accountId: envelope.accountId,
    kind: auto.kind,
    score: auto.score,
    modelId,
    outcome: verdict.first,
    costPico: BigInt(record.chargePico),
    vector: outcomeVector(messages),
    otherModelId: models.other.id,
    otherOutcome: verdict.second,
    otherCostPico: other.chargePico,
  })
  return isEqual ? 'equal' : 'compared'
}

/** Two models that agree on what can be checked count as right. */
const EQUAL = { first: 1, second: 1 }

/** The mean of two gradings, each completion once in front: a judge's liking for a place cancels out. */
async function judged(
  judge: Model | null,
  messages: readonly ChatMessage[],
  [first, second]: readonly [string, string],
  deps: RunDependencies,
): Promise<typeof EQUAL | ShadowResult> {
  if (judge === null) return 'not-comparable'
  const there = await ask(judge, judgeMessages(messages, first, second), JUDGE_TOKENS_MAX, deps)
  if (typeof there === 'string') return there
  const back = await ask(judge, judgeMessages(messages, second, first), JUDGE_TOKENS_MAX, deps)
  if (typeof back === 'string') return back
  const [one, other] = [readVerdict(there.completion), readVerdict(back.completion)]
  if (!one || !other) return 'failed'
  return { first: (one.first + other.second) / 2, second: (one.second + other.first) / 2 }
}

const plainChat = (messages: readonly ChatMessage[]): ChatContent => ({
  kind: 'chat',
  messages: [...messages],
  parameters: {},
})

interface Asked {
  completion: string
  /** What a client would be charged, so that it compares with the call's charge. */
  chargePico: bigint
}

/** Asks one offer of a model on the operator's account. Nothing is held or posted; its most is reserved of the day's money. */
async function ask(
  model: Model,
  messages: readonly ChatMessage[],
  completionLimit: number,
  { chain, catalog, spend, signal, spent, clock, random }: RunDependencies,
): Promise<Asked | ShadowResult> {
  const content = plainChat(messages)
  const snapshot = catalog()
  const { candidates, worstCase } = planRoute(
    { models: [model.id], completionLimit, preferences: parsePreferences({}) },
    chatNeeds(content),
    snapshot,
    { defaultCompletionLimit: completionLimit, maxCandidates: 1, byokFeePercent: 0, random },
  )
  const [candidate] = candidates
  const rates = snapshot.offers.get(candidate!.offerId)!.cost
  const most =
    mostPromptCost(promptBoundOf(candidate!), rates) + BigInt(candidate!.completionLimit) * rates.completion
  if (!(await spend.reserve(most))) return 'over-budget'
  const now = clock()
  const id = newCallId(now)
  const envelope: CallEnvelope = {
    ...{ id, accountId: SHADOW, keyId: SHADOW, requestId: id, requestedModel: model.id },
    ...{ stream: false, replyChannel: '', candidates, holdPico: String(worstCase), idempotencyRecord: null },
    ...{
      admittedAt: now,
      queueDeadlineAt: now + REQUEST_TIMEOUT_MS,
      callDeadlineAt: now + REQUEST_TIMEOUT_MS,
    },
  }
  const outcome = await chain({ envelope, body: content, signal, upstream: signal, send: () => undefined })
  const record = settlementOf(outcome, envelope, snapshot, { claimedAt: now, finishedAt: clock() })
  const served = record.served ? costOf(record.usage, readRates(record.served.cost)) : 0n
  const costPico = record.attempts.reduce(
    (sum, attempt) => sum + BigInt(attempt.spent?.costPico ?? 0),
    served,
  )
  spent(costPico)
  await spend.giveBack(most - costPico)
  if (outcome.status !== 'completed' || !outcome.message.content) return 'failed'
  return { completion: outcome.message.content, chargePico: BigInt(record.chargePico) }
}
