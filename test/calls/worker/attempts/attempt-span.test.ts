import { context, propagation, trace } from '@opentelemetry/api'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { inAttemptSpan } from '../../../../src/calls/worker/attempts/attempt-span.ts'
import type { AttemptOutcome } from '../../../../src/core/calls/attempt-outcome.ts'
import type { Usage } from '../../../../src/core/calls/usage.ts'
import { attemptFailure } from '../../../../src/core/failover/attempt-failure.ts'
import { picoUsdPerToken } from '../../../../src/core/kernel/money.ts'
import { startTracing } from '../../../../src/platform/observability/start-tracing.ts'
import { inSpan } from '../../../../src/platform/observability/tracing.ts'
import { candidateOf, chatOf, envelopeOf } from '../../../helpers/call-shapes.ts'
import { offer, provider, rates } from '../../../helpers/planned-catalog.ts'
import { startTraceCollector, type TraceCollector } from '../../../helpers/trace-collector.ts'

const PARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const COST = {
  ...rates(2_000_000, 10_000_000),
  cacheRead: picoUsdPerToken(200_000n),
  cacheWrite: picoUsdPerToken(2_500_000n),
}
const PLAN = {
  candidate: candidateOf(),
  offer: offer(provider('moonshotai'), 1, { cost: COST }, 'large-1'),
  lastChance: false,
  rescue: null,
}
const CALL = {
  envelope: envelopeOf({ id: 'chatcmpl_1', conversation: 'conversation-1' }),
  content: chatOf([], { parameters: { temperature: 0.5 } }),
}
const FACTS = { httpStatus: 200, firstTokenAt: null, malformedEvents: 0 }
const USAGE: Usage = { promptTokens: 1_000, completionTokens: 50, cachedTokens: 600, cacheWriteTokens: 100 }
const finished = (usage: Usage): AttemptOutcome => ({
  ...FACTS,
  kind: 'finished',
  reason: 'tool_calls',
  usage,
  produced: { usage, thinkingBytes: 0, reasoningTokens: 30 },
  responseModel: 'large-1-2026-11-01',
})

let collector: TraceCollector

beforeAll(async () => {
  collector = await startTraceCollector()
})
afterAll(async () => {
  for (const api of [trace, context, propagation]) api.disable()
  vi.unstubAllEnvs()
  await collector.close()
})

test('the span of an attempt has usage with cache and reasoning, cost and conversation, also if it failed', async () => {
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  }
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  const tracing = await startTracing('test', environment)
  const outcomes: AttemptOutcome[] = [
    finished(USAGE),
    {
      ...FACTS,
      kind: 'failed',
      failure: attemptFailure('stalled', 'silent'),
      produced: { usage: USAGE, thinkingBytes: 0, reasoningTokens: 0 },
    },
    finished({ ...USAGE, cachedTokens: 2_000 }),
  ]
  await inSpan('call', { kind: 'CONSUMER', attributes: {}, parent: PARENT }, async () => {
    for (const [index, outcome] of outcomes.entries())
      await inAttemptSpan(PLAN, CALL, index + 1, async () => outcome)
  })
  await tracing.stop()
  const [ended, failed, impossible] = collector.spans.filter(({ name }) => name === 'chat large-1')
  const ofUsage = {
    'gen_ai.usage.input_tokens': 1_000,
    'gen_ai.usage.output_tokens': 50,
    'gen_ai.usage.cache_read.input_tokens': 600,
    'gen_ai.usage.cache_creation.input_tokens': 100,
    // 300 × 2.00 + 600 × 0.20 + 100 × 2.50 + 50 × 10.00 USD a million.
    'gen_ai.usage.cost': 0.00147,
  }
  expect(ended!.attributes).toMatchObject({
    ...ofUsage,
    'gen_ai.provider.name': 'moonshot_ai',
    'gen_ai.request.temperature': 0.5,
    'gen_ai.usage.reasoning.output_tokens': 30,
    'gen_ai.response.model': 'large-1-2026-11-01',
    'gen_ai.conversation.id': 'conversation-1',
    'session.id': 'conversation-1',
    'shuntyard.call.id': 'chatcmpl_1',
    'shuntyard.call.attempt': 1,
    'shuntyard.byok': false,
  })
  expect(failed!.attributes).toMatchObject({
    ...ofUsage,
    'error.type': 'stalled',
    'shuntyard.call.attempt': 2,
  })
  expect(impossible!.attributes).not.toHaveProperty(['gen_ai.usage.input_tokens'])
})
