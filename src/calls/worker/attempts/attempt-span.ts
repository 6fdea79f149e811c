import { costOf } from '../../../core/billing/pricing.ts'
import { type AttemptOutcome, outcomeName, reportedUsage } from '../../../core/calls/attempt-outcome.ts'
import type { CallEnvelope } from '../../../core/calls/call-job.ts'
import { type CallContent, kindOf, parametersOf } from '../../../core/calls/kinds/call-kinds.ts'
import type { Offer } from '../../../core/catalog/catalog.ts'
import { formatUsd } from '../../../core/kernel/money.ts'
import { oncePer } from '../../../core/kernel/once-per.ts'
import type { OperationAttributes } from '../../../platform/observability/genai-metrics.ts'
import { inSpan, isTraced } from '../../../platform/observability/tracing.ts'
import type { AttemptPlan } from './attempt-plan.ts'

/** What a span says of the call besides its content. */
interface SpanOfCall {
  envelope: Pick<CallEnvelope, 'id' | 'conversation'>
  content: CallContent
}

/**
 * One attempt at a provider, with the attributes of the GenAI semantic conventions. Never text of the call. Source:
 * OpenTelemetry semantic conventions, "Semantic conventions for generative client AI spans".
 * @param number of the attempt within its call, from 1
 */
export function inAttemptSpan(
  { candidate, offer }: AttemptPlan,
  { envelope: { id, conversation }, content }: SpanOfCall,
  number: number,
  run: () => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  if (!isTraced()) return run()
  const operation = operationOf(offer, content)
  const { temperature, top_p, seed, frequency_penalty, presence_penalty } = parametersOf(content)
  const attributes = {
    ...operation,
    'gen_ai.request.max_tokens': candidate.completionLimit,
    'gen_ai.request.temperature': temperature,
    'gen_ai.request.top_p': top_p,
    'gen_ai.request.seed': seed,
    'gen_ai.request.frequency_penalty': frequency_penalty,
    'gen_ai.request.presence_penalty': presence_penalty,
    'gen_ai.request.stream': kindOf(content).asksFor === 'completion',
    'gen_ai.conversation.id': conversation,
    // Langfuse and others group by the older name.
    'session.id': conversation,
    'shuntyard.call.id': id,
    'shuntyard.call.attempt': number,
    'shuntyard.offer.id': offer.id,
    'shuntyard.byok': candidate.providerKeyId !== undefined,
  }
  const startedAt = Date.now()
  const name = `${operation['gen_ai.operation.name']} ${offer.upstreamModel}`
  return inSpan(name, { kind: 'CLIENT', attributes }, async (span) => {
    const outcome = await run()
    const { httpStatus, firstTokenAt } = outcome
    span.set({
      'http.response.status_code': httpStatus ?? undefined,
      'gen_ai.response.time_to_first_chunk':
        firstTokenAt === null ? undefined : Math.max(0, firstTokenAt - startedAt) / 1000,
      ...usageAttributes(outcome, offer),
    })
    if (outcome.kind === 'finished') {
      const { reason, responseModel } = outcome
      span.set({ 'gen_ai.response.finish_reasons': [reason], 'gen_ai.response.model': responseModel })
    } else span.fail(outcomeName(outcome))
    return outcome
  })
}

/** The usage that the provider reported, also of an attempt that was cut off, and its cost at the offer's rates. */
function usageAttributes(outcome: AttemptOutcome, { cost }: Offer) {
  const usage = reportedUsage(outcome)
  if (usage === null) return {}
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens } = usage
  const { reasoningTokens } = outcome.produced
  return {
    'gen_ai.usage.input_tokens': promptTokens,
    'gen_ai.usage.output_tokens': completionTokens,
    'gen_ai.usage.cache_read.input_tokens': cachedTokens,
    'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': reasoningTokens > 0 ? reasoningTokens : undefined,
    // No name of the conventions; the one that tools read.
    'gen_ai.usage.cost': Number(formatUsd(costOf(usage, cost))),
  }
}

/** The attributes that every signal has of an attempt. */
export function operationOf(offer: Offer, content: CallContent): OperationAttributes {
  return {
    'gen_ai.operation.name': kindOf(content).asksFor === 'completion' ? 'chat' : content.kind,
    'gen_ai.provider.name': PROVIDER_NAMES[offer.provider.id] ?? offer.provider.id,
    'gen_ai.request.model': offer.upstreamModel,
    ...serverOf(offer.provider),
  }
}

const serverOf = oncePer(({ baseUrl }: Offer['provider']) => {
  const { hostname, port, protocol } = new URL(baseUrl)
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) }
})

/** Providers whose name in the conventions differs from the catalog. */
const PROVIDER_NAMES: Record<string, string> = {
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  moonshotai: 'moonshot_ai',
  xai: 'x_ai',
}
