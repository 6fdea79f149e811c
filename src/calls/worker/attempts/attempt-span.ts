import type { AttemptOutcome } from '../../../core/calls/attempt-outcome.ts'
import { type CallContent, kindOf, parametersOf } from '../../../core/calls/kinds/call-kinds.ts'
import { inSpan, tracesAreOn } from '../../../platform/observability/tracing.ts'
import { outcomeName } from './attempt-history.ts'
import type { AttemptPlan } from './attempt-plan.ts'

/**
 * One attempt at a provider, with the attributes of the GenAI semantic conventions. Never text of the call. Source:
 * OpenTelemetry semantic conventions, "Semantic conventions for generative client AI spans".
 */
export function inAttemptSpan(
  { candidate, offer }: AttemptPlan,
  content: CallContent,
  run: () => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  if (!tracesAreOn()) return run()
  const { hostname, port, protocol } = new URL(offer.provider.baseUrl)
  const isCompletion = kindOf(content).asksFor === 'completion'
  const operation = isCompletion ? 'chat' : content.kind
  const { temperature, top_p } = parametersOf(content)
  const attributes = {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': PROVIDER_NAMES[offer.provider.id] ?? offer.provider.id,
    'gen_ai.request.model': offer.upstreamModel,
    'gen_ai.request.max_tokens': candidate.completionLimit,
    'gen_ai.request.temperature': temperature,
    'gen_ai.request.top_p': top_p,
    'gen_ai.request.stream': isCompletion,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'switchyard.offer.id': offer.id,
  }
  const startedAt = Date.now()
  return inSpan(`${operation} ${offer.upstreamModel}`, { kind: 'CLIENT', attributes }, async (span) => {
    const outcome = await run()
    const { httpStatus, firstTokenAt } = outcome
    span.set({
      'http.response.status_code': httpStatus ?? undefined,
      'gen_ai.response.time_to_first_chunk':
        firstTokenAt === null ? undefined : Math.max(0, firstTokenAt - startedAt) / 1000,
    })
    if (outcome.kind === 'failed') span.fail(outcome.failure.kind)
    if (outcome.kind === 'cancelled' || outcome.kind === 'expired') span.fail(outcomeName(outcome))
    if (outcome.kind === 'finished') {
      span.set({
        'gen_ai.response.finish_reasons': [outcome.reason],
        'gen_ai.usage.input_tokens': outcome.usage?.promptTokens,
        'gen_ai.usage.output_tokens': outcome.usage?.completionTokens,
      })
    }
    return outcome
  })
}

/** Providers whose name in the conventions differs from the catalog. */
const PROVIDER_NAMES: Record<string, string> = {
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
}
