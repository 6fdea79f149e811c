import type { AutoDecision } from '../auto/auto-routing.ts'
import { mostPromptCost } from '../billing/pricing.ts'
import type { Candidate } from '../calls/call-job.ts'
import type { ChatRequest } from '../calls/chat-request.ts'
import { mediaParts } from '../calls/content-part.ts'
import { promptBoundOf } from '../calls/prompt-tokens.ts'
import type { CatalogSnapshot } from '../catalog/catalog.ts'
import { readRates } from '../catalog/token-rates.ts'
import { schemaTooLarge, tooLargeSchema } from '../json/schema-limits.ts'
import { greaterOf, type PicoUsd, picoUsd } from '../kernel/money.ts'
import { sumOfTokens } from '../media/media-tokens.ts'
import { offerFilter } from './offer-filter.ts'
import { type AskedCall, type Choice, choicesOf, type PlanOptions } from './plan-choices.ts'
import { resolveEntry, SUFFIXES } from './plan-entry.ts'
import { modelNotFound, type Obstacle, planRefusal } from './plan-refusal.ts'
import { providersChosenBy } from './provider-names.ts'
import { requestShape } from './request-shape.ts'

/** Where a call may go, in order, and what it can cost at most. */
export interface RoutingPlan {
  candidates: Candidate[]
  /** The most the call can cost at `completionLimit`, at the dearest candidate. */
  worstCase: PicoUsd
  /** Terms of the hold when the completion limit has to shrink to what the balance affords. */
  dearestPrompt: PicoUsd
  dearestCompletionRate: bigint
  /** The longest completion limit among the candidates. */
  completionLimit: number
  /** Tokens of the prompt, for the rate limit: a bound of its text, and what its media are likely to be. */
  promptTokens: number
  /** What `auto` chose by; absent where the request does not ask for it. */
  auto?: AutoDecision
}

/**
 * Plans the attempts of a call ahead of time; `textTokens` is a bound of the tokens of the prompt's text. Throws
 * ApiError `model_not_found`, `unsupported_shape`, `context_length_exceeded` or `no_provider_available` when nothing is
 * left to try.
 */
export function planRoute(
  request: ChatRequest,
  textTokens: number,
  catalog: CatalogSnapshot,
  options: PlanOptions,
): RoutingPlan {
  const shape = requestShape(request)
  const filter = offerFilter(request.preferences, shape, catalog)
  const resolved = request.models.map((asked) => resolveEntry(asked, request, shape, filter, catalog))
  const entries = resolved.flatMap((one) => one.entries)
  const auto = resolved.find((one) => one.auto)?.auto
  if (entries.length === 0) throw modelNotFound(request.models, Object.keys(SUFFIXES), catalog)
  const asked: AskedCall = {
    request,
    shape,
    prompt: {
      textTokens,
      textTokensAtLeast: shape.promptTokensAtLeast,
      media: mediaParts(request.messages),
    },
    filter,
    pinned: request.preferences.order.map((name) => providersChosenBy(name, catalog)),
  }
  const obstacles = new Set<Obstacle>()
  const taken = new Set<string>()
  const choices = entries.map((entry) =>
    // An entry that leads where an earlier one has led already adds nothing.
    choicesOf(entry, asked, obstacles, options).filter(({ candidate }) => isNew(targetOf(candidate), taken)),
  )
  if (taken.size === 0) {
    throw obstacles.has('schema')
      ? schemaTooLarge(tooLargeSchema(request.parameters) ?? 'tools')
      : planRefusal(obstacles, shape)
  }
  const candidates = allocateSlots(choices, options.maxCandidates)
  const mediaLikely = Math.max(
    ...candidates.map(({ media, promptTokensBound }) =>
      Math.min(sumOfTokens(media?.likely), promptTokensBound),
    ),
  )
  return { ...priced(candidates), promptTokens: textTokens + mediaLikely, ...(auto && { auto }) }
}

/**
 * The choices that get one of the plan's slots, in their order. Where there are more than slots, the healthy come
 * first, and every entry gets its best before any gets its second, so that a long list of offers of one model
 * leaves room for the models after it.
 */
function allocateSlots(entries: readonly Choice[][], slots: number): Candidate[] {
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
  return entries.flat().flatMap((choice) => (placed.has(choice) ? [choice.candidate] : []))
}

/** What makes two candidates the same try. */
const targetOf = ({ modelId, offerId, providerKeyId = '' }: Candidate): string =>
  `${modelId} ${offerId} ${providerKeyId}`

function isNew(key: string, taken: Set<string>): boolean {
  const before = taken.size
  return taken.add(key).size > before
}

function priced(candidates: Candidate[]): Omit<RoutingPlan, 'promptTokens' | 'auto'> {
  const max = (values: bigint[]) => values.reduce<bigint>(greaterOf, 0n)
  const prompts = candidates.map((candidate) =>
    mostPromptCost(promptBoundOf(candidate), readRates(candidate.rate)),
  )
  const rates = candidates.map((candidate) => BigInt(candidate.rate.completion))
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
