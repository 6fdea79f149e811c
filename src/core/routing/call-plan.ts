import type { AutoDecision } from '../auto/routing-profiles.ts'
import { mostPromptCost } from '../billing/pricing.ts'
import type { Candidate } from '../calls/call-job.ts'
import { type CallNeeds, contentKindsOf } from '../calls/kinds/call-kind.ts'
import type { PassedField } from '../calls/passed-fields.ts'
import { type CatalogSnapshot, makerOf } from '../catalog/catalog.ts'
import { readRates } from '../catalog/token-rates.ts'
import { greaterOf, type PicoUsd, picoUsd } from '../kernel/money.ts'
import { oncePer } from '../kernel/once-per.ts'
import { sumOfTokens } from '../media/media-tokens.ts'
import { promptBoundOf } from '../text-tokens/prompt-tokens.ts'
import { affinityTarget, isWeighted } from './affinity.ts'
import { offerFilter, providersChosenBy } from './offer-preferences.ts'
import { isLong } from './plan-candidate.ts'
import { resolveModels } from './plan-models.ts'
import { type Choice, choicesOf, type PlanInput, type PlanOptions, unmetParameter } from './plan-offers.ts'
import { type Obstacle, planRefusal, unsupportedParameter } from './plan-refusal.ts'
import { takesField } from './supported-parameters.ts'

/** The targets of a call, in order, and its maximum cost. */
export interface CallPlan {
  candidates: Candidate[]
  /** The maximum cost at `completionLimit`, at the most expensive candidate. */
  worstCase: PicoUsd
  /** The terms of the hold, for shrinking the completion limit to what the balance covers. */
  dearestPrompt: PicoUsd
  dearestCompletionRate: bigint
  /** The longest completion limit among the candidates. */
  completionLimit: number
  /** Tokens of the prompt for the rate limit: a bound of its text, at most the largest window, and its likely media tokens. */
  promptTokens: number
  /** See ChatContent. */
  extended?: true
  /** The parameters of an extended call that some candidate does not get; absent: none. */
  ignoredParameters?: string[]
  /** The basis of `auto`'s choice; absent if the request names its model. */
  auto?: AutoDecision
  /** Absent: its conversation is not known, or its prompt is too short for a cache. */
  affinity?: Affinity
}

/** Where the conversation of a call may stay, because its prompt is in the cache of the provider there. */
export interface Affinity {
  /** Its hash within the account. */
  conversation: number
  /** The first candidates of the plan, as text; '' for one that may not be tried first. Absent: there is no choice. */
  targets?: string[]
}

/**
 * Plans the attempts of a call in advance. Throws ApiError `not_permitted`, `model_not_found`, `unsupported_shape`,
 * `context_length_exceeded` or `no_provider_available` if there is no candidate.
 */
export function planRoute(
  request: PlanInput['request'],
  needs: CallNeeds,
  catalog: CatalogSnapshot,
  options: PlanOptions,
): CallPlan {
  const { models, preferences } = request
  const filter = offerFilter(preferences, needs, catalog, options.allowList)
  const { entries, auto } = resolveModels(models, needs, filter, catalog, options)
  const isCacheable = needs.modelKind === 'chat' && isLong(needs.prompt)
  const differs = isCacheable || entries.some(({ model: { offers } }) => isWeighted(offers))
  const input: PlanInput = {
    request,
    needs,
    filter,
    pinned: preferences.order.map((name) => providersChosenBy(name, catalog)),
    contentKinds: contentKindsOf(needs.modalities),
    isCacheable,
    conversation: differs ? options.conversation?.() : undefined,
  }
  const obstacles = new Set<Obstacle>()
  const taken = new Set<string>()
  const choices = entries.map((entry) =>
    // An entry with the same target as an earlier one adds nothing.
    choicesOf(entry, input, obstacles, options).filter(({ candidate }) => isNew(targetOf(candidate), taken)),
  )
  if (taken.size === 0) {
    const parameter = needs.extended && unmetParameter(entries, input, options)
    throw parameter ? unsupportedParameter(parameter) : planRefusal(obstacles, needs)
  }
  const slots = allocateSlots(choices, options.maxCandidates)
  const candidates = slots.map(({ candidate }) => candidate)
  const affinity = isCacheable ? affinityOf(slots, input.conversation) : undefined
  const mediaLikely = Math.max(
    ...candidates.map(({ media, promptTokensBound }) =>
      Math.min(sumOfTokens(media?.likely), promptTokensBound),
    ),
  )
  const mostPromptTokens = Math.max(...candidates.map(({ promptTokensBound }) => promptTokensBound))
  const passed = Object.keys(needs.passed ?? {}) as PassedField[]
  const isTaken =
    (name: PassedField) =>
    ({ offerId, leftOut }: Candidate) =>
      takesField(catalog.offers.get(offerId)!.provider, name) && leftOut?.includes(name) !== true
  const { onlyAt, signed } = needs
  const offerOf = ({ offerId }: Candidate) => catalog.offers.get(offerId)!
  const isLostAt = (maker: string) => [...(signed?.makers ?? [])].some((each) => each !== maker)
  const ignored = [
    ...needs.parameters.filter((name) => candidates.some(({ leftOut }) => leftOut?.includes(name))),
    ...passed.filter((name) => !candidates.every(isTaken(name))),
    ...(onlyAt && candidates.some((each) => offerOf(each).provider.wire !== onlyAt.wire) ? onlyAt.names : []),
    ...(signed && candidates.some((each) => isLostAt(makerOf(offerOf(each)))) ? [signed.name] : []),
  ]
  return {
    ...priced(candidates),
    promptTokens: Math.min(needs.prompt.textTokens, mostPromptTokens) + mediaLikely,
    ...(auto && { auto }),
    ...(affinity && { affinity }),
    ...(needs.extended && { extended: true, ...(ignored.length > 0 && { ignoredParameters: ignored }) }),
  }
}

/**
 * The choices that get one of the plan's slots, in their order. If there are more than slots, healthy ones come first,
 * and every entry gets its best before any gets its second, so that a long list of offers of one model leaves slots for
 * the models after it.
 */
function allocateSlots(entries: readonly Choice[][], slots: number): Choice[] {
  const all = entries.flat()
  if (all.length <= slots) return all
  const placed = new Set<Choice>()
  for (const healthy of [true, false]) {
    const queues = entries.map((choices) => choices.filter(({ isHealthy }) => isHealthy === healthy))
    const rounds = Math.max(...queues.map((queue) => queue.length))
    for (let round = 0; round < rounds; round++) {
      for (const queue of queues) {
        const choice = queue[round]
        if (choice && placed.size < slots) placed.add(choice)
      }
    }
  }
  return all.filter((choice) => placed.has(choice))
}

/** The candidates among which a conversation may stay: those for the first name of the request, if there is a choice. */
function affinityOf(choices: readonly Choice[], conversation: number | undefined): Affinity | undefined {
  if (conversation === undefined) return undefined
  const first = choices[0]!.candidate
  const others = choices.findIndex(
    ({ candidate: { modelId, requestedModel } }) =>
      modelId !== first.modelId || requestedModel !== first.requestedModel,
  )
  const targets = choices
    .slice(0, others < 0 ? undefined : others)
    .map((choice) => (choice.mayStay ? affinityTarget(choice.candidate) : ''))
  const hasChoice = targets.filter((target) => target !== '').length > 1
  return { conversation, ...(hasChoice && { targets }) }
}

/** Identifies the target of a candidate. */
const targetOf = ({ modelId, offerId, providerKeyId = '' }: Candidate): string =>
  `${modelId} ${offerId} ${providerKeyId}`

function isNew(key: string, taken: Set<string>): boolean {
  const before = taken.size
  return taken.add(key).size > before
}

/** Candidates of one model share the parsed rates. */
const ratesOf = oncePer(readRates)

function priced(candidates: Candidate[]): Omit<CallPlan, 'promptTokens' | 'auto'> {
  const max = (values: bigint[]) => values.reduce<bigint>(greaterOf, 0n)
  const prompts = candidates.map((candidate) =>
    mostPromptCost(promptBoundOf(candidate), ratesOf(candidate.rate)),
  )
  const rates = candidates.map<bigint>(({ rate }) => ratesOf(rate).completion)
  const worst = candidates.map(
    (candidate, index) => prompts[index]! + BigInt(candidate.completionLimit) * rates[index]!,
  )
  return {
    candidates,
    worstCase: picoUsd(max(worst)),
    dearestPrompt: picoUsd(max(prompts)),
    dearestCompletionRate: max(rates),
    completionLimit: Math.max(...candidates.map((candidate) => candidate.completionLimit)),
  }
}
