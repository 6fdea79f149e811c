import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type ChainDependencies,
  createAttemptChain,
} from '../../../../src/calls/worker/attempts/attempt-chain.ts'
import type { CallEnvelope, Candidate } from '../../../../src/core/calls/call-job.ts'
import type { CallOutcome } from '../../../../src/core/calls/call-outcome.ts'
import type { ChatMessage, SamplingParameters } from '../../../../src/core/calls/chat-request.ts'
import type { Offer } from '../../../../src/core/catalog/catalog.ts'
import { formatBreakerEntry } from '../../../../src/core/failover/circuit-breaker.ts'
import {
  type BreakerBoard,
  createBreakerBoard,
} from '../../../../src/offer-health/circuit-breaker/breaker-board.ts'
import { enableOffer } from '../../../../src/offer-health/circuit-breaker/breaker-store.ts'
import { followOfferHealth } from '../../../../src/offer-health/circuit-breaker/offer-health.ts'
import { createRetryBudget, type RetryBudget } from '../../../../src/offer-health/retry-budget.ts'
import { createLogger } from '../../../../src/platform/observability/logger.ts'
import { createRedis, type Redis } from '../../../../src/platform/redis/redis.ts'
import { HEALTH_BREAKERS, HEALTH_CHANNEL } from '../../../../src/platform/redis/redis-keys.ts'
import { createSign } from '../../../../src/providers/credentials/create-sign.ts'
import {
  createProviderClients,
  createTransport,
  type Transport,
} from '../../../../src/providers/provider-clients.ts'
import { WIRE_MAPPINGS } from '../../../../src/providers/wires.ts'
import { candidateOf, chatOf, envelopeOf, runningOf } from '../../../helpers/call-shapes.ts'
import { PATIENT, UNMEASURED } from '../../../helpers/chain-parts.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { snapshot } from '../../../helpers/planned-catalog.ts'
import {
  DONE,
  event,
  finishEvent,
  hangs,
  offerAt,
  refuses,
  type ScriptedProvider,
  startScriptedProvider,
  streams,
  streamsAndBreaks,
  streamsOpenEnded,
  textEvent,
  usageEvent,
  wholeStream,
} from '../../../helpers/scripted-provider.ts'
import { createTestRedis, type TestRedis } from '../../../helpers/services.ts'

/** For a provider that falls silent. */
const IMPATIENT = { settings: { ...PATIENT, firstTokenTimeoutMs: 300, idleTimeoutMs: 600 } }

let server: TestRedis
let redis: Redis
let subscriber: Redis
let transport: Transport
let board: BreakerBoard
let budget: RetryBudget
let alpha: ScriptedProvider
let beta: ScriptedProvider

beforeAll(async () => {
  server = await createTestRedis()
  transport = createTransport({ connectTimeoutMs: 30_000 })
})
afterAll(async () => {
  await transport.close()
  await server.close()
})
beforeEach(async () => {
  redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
  subscriber = createRedis({ url: server.url, name: 'test', mode: 'wait' })
  await redis.flushall()
  alpha = await startScriptedProvider()
  beta = await startScriptedProvider()
  const logger = createLogger('silent', 'test')
  board = await createBreakerBoard({
    redis,
    subscriber,
    settings: { breakerFailures: 5, breakerWindowMs: 30_000, breakerCooldownMs: 10_000 },
    now: Date.now,
    logger,
  })
  budget = createRetryBudget({ redis, limits: { percent: 20, floor: 100 }, now: Date.now, logger })
})
afterEach(async () => {
  await Promise.all([board.close(), budget.close(), alpha.close(), beta.close()])
  await Promise.all([redis.quit(), subscriber.quit()])
})

interface CallOptions {
  stream?: boolean
  offers?: Offer[]
  candidates?: Partial<Candidate>[]
  messages?: readonly ChatMessage[]
  parameters?: SamplingParameters
  extended?: true
  timeoutMs?: number
  signal?: AbortSignal
  deps?: Partial<ChainDependencies>
  onText?: (delivered: string) => void
}

interface Answer {
  outcome: CallOutcome
  /** What the sink heard, in order. */
  delivered: unknown[]
  text: string
}

/** Two offers of one model, at alpha and at beta. */
const bothOffers = (changes: Partial<Offer> = {}): Offer[] => [
  offerAt(alpha.baseUrl, changes, 'alpha/large-1'),
  offerAt(beta.baseUrl, changes, 'beta/large-1'),
]

async function call(options: CallOptions = {}): Promise<Answer> {
  const offers = options.offers ?? bothOffers()
  const catalog = snapshot([], offers)
  const delivered: unknown[] = []
  let text = ''
  const chain = createAttemptChain({
    catalog: () => catalog,
    providers: createProviderClients({
      sign: createSign(Date.now),
      wires: WIRE_MAPPINGS,
      transport,
      ourKey: ({ apiKeyEnv }) => (apiKeyEnv === null ? null : 'key'),
      connectTimeoutMs: 30_000,
      now: Date.now,
    }),
    board,
    budget,
    settings: PATIENT,
    logger: createLogger('silent', 'test'),
    now: Date.now,
    random: () => 0,
    ...UNMEASURED,
    ...options.deps,
  })
  const content = chatOf([{ role: 'user', content: 'hello world' }, ...(options.messages ?? [])], {
    parameters: options.parameters ?? {},
  })
  const running = runningOf(envelope(offers, options), content, {
    ...(options.signal && { signal: options.signal }),
    send(frame) {
      delivered.push(frame)
      if (frame[0] !== 'text') return
      text += frame[1]
      options.onText?.(text)
    },
  })
  const outcome = await chain(running)
  return { outcome, delivered, text }
}

function envelope(
  offers: Offer[],
  { stream = true, extended, candidates = [], timeoutMs = 60_000 }: CallOptions,
): CallEnvelope {
  return envelopeOf({
    stream,
    ...(extended && { extended }),
    candidates: offers.map(({ id }, index) =>
      candidateOf({ offerId: id, modelId: 'large-1', ...candidates[index] }),
    ),
    holdPico: '1000000000',
    callDeadlineAt: Date.now() + timeoutMs,
  })
}

const outcomes = ({ outcome }: Answer) =>
  outcome.attempts.map((attempt) => `${attempt.offerId} ${attempt.outcome}`)

describe('an answer', () => {
  test('is relayed as it comes, and comes back whole with its usage', async () => {
    alpha.play(streams(wholeStream('Hel', 'lo')))
    const answer = await call()
    expect(answer.delivered).toEqual([
      ['open', 0],
      ['text', 'Hel'],
      ['text', 'lo'],
    ])
    expect(answer.outcome).toMatchObject({
      status: 'completed',
      finishReason: 'stop',
      message: { content: 'Hello' },
      usage: { promptTokens: 7, completionTokens: 11 },
      usageSource: 'upstream',
      usageClamped: false,
      served: { offerId: 'alpha/large-1' },
      attempts: [{ offerId: 'alpha/large-1', outcome: 'ok', httpStatus: 200 }],
    })
    expect(beta.requests).toHaveLength(0)
  })

  test('never comes from a provider that has ceased to keep to what the call was planned for', async () => {
    const [atAlpha, atBeta] = bothOffers() as [Offer, Offer]
    beta.play(streams(wholeStream('Hi')))
    const privacies = [
      { privacy: { zdr: true, denyDataCollection: false }, changed: { zdr: false } },
      { privacy: { zdr: false, denyDataCollection: true }, changed: { dataCollection: 'allow' as const } },
    ]
    for (const { privacy, changed } of privacies) {
      const offers = [{ ...atAlpha, provider: { ...atAlpha.provider, ...changed } }, atBeta]
      expect(outcomes(await call({ offers, candidates: [{ privacy }, { privacy }] }))).toEqual([
        'beta/large-1 ok',
      ])
    }
    expect(alpha.requests).toHaveLength(0)
  })

  test('to a call that does not stream relays nothing before it is whole', async () => {
    alpha.play(streams(wholeStream('Hel', 'lo')))
    const answer = await call({ stream: false })
    expect(answer.delivered).toEqual([])
    expect(answer.outcome).toMatchObject({ status: 'completed', message: { content: 'Hello' } })
    expect(alpha.requests[0]?.body.stream).toBe(true)
  })

  test.each([
    ['streamed', true],
    ['given whole', false],
  ])('that runs past its limit is ended, %s, and charged at the limit', async (_, stream) => {
    // Says words for as long as somebody reads them.
    alpha.play((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const goOn = (): void => {
        while (!response.destroyed && response.write(textEvent(' word').repeat(20)));
      }
      response.on('drain', goOn)
      goOn()
    })
    const stopped = alpha.aborted()
    const logged: Array<Record<string, unknown>> = []
    const logger = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) })
    const { outcome, text } = await call({ stream, deps: { logger } })
    await stopped
    expect(outcome).toMatchObject({
      status: 'completed',
      finishReason: 'length',
      served: { offerId: 'alpha/large-1' },
      usage: { completionTokens: 64 },
      usageSource: 'counted',
      attempts: [{ outcome: 'ok' }],
    })
    const { content } = (outcome as Extract<CallOutcome, { status: 'completed' }>).message
    expect(content).toBe(stream ? text : content)
    expect(content!.length).toBeGreaterThan(64 * 5)
    expect(content!.length).toBeLessThanOrEqual((2 * 64 + 64) * 8)
    expect(logged.filter(({ alarm }) => alarm !== undefined)).toMatchObject([
      { alarm: 'limit-ignored', offerId: 'alpha/large-1', completionLimit: 64 },
    ])
    expect(board.state()).toEqual([])
  })

  test('an answer of long runs of a character is cut by bytes and charged by tokens, without an alarm', async () => {
    alpha.play(streams(wholeStream('-'.repeat(100_000))))
    const logged: string[] = []
    const logger = pino({}, { write: (line: string) => void logged.push(line) })
    const { outcome } = await call({ deps: { logger } })
    expect(outcome).toMatchObject({ status: 'completed', finishReason: 'length', usageSource: 'counted' })
    expect((outcome as Extract<CallOutcome, { status: 'completed' }>).usage.completionTokens).toBeLessThan(64)
    expect(logged).toEqual([])
  })

  test('with nothing in it is a failure, and another offer is asked', async () => {
    alpha.play(streams(finishEvent() + usageEvent(7, 5) + DONE))
    beta.play(streams(wholeStream('Hello')))
    for (const stream of [true, false]) {
      expect((await call({ stream })).outcome).toMatchObject({
        status: 'completed',
        served: { offerId: 'beta/large-1' },
        attempts: [{ outcome: 'empty-answer' }, { outcome: 'ok' }],
      })
    }
  })

  test('with nothing in it at every offer is a failed call, and no word against the offers', async () => {
    alpha.play(streams(finishEvent() + DONE))
    beta.play(streams(finishEvent('tool_calls') + DONE))
    for (let round = 0; round < 4; round++) {
      const { outcome, delivered } = await call()
      expect(outcome).toMatchObject({ status: 'failed', error: { code: 'all_providers_failed' } })
      expect(delivered).toEqual([])
    }
    expect(board.state()).toEqual([])
  })

  const EMPTY = finishEvent() + DONE
  const toolTurn: ChatMessage[] = [
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', content: 'done', tool_call_id: 'call_1' },
  ]
  test.each([
    ['with usage', { provider: finishEvent() + usageEvent(7, 1) + DONE }, { source: 'upstream' }],
    ['after the result of a tool', { provider: EMPTY, messages: toolTurn }, { source: 'counted' }],
    ['with a stop sequence', { provider: EMPTY, parameters: { stop: ['<'] } }, { source: 'counted' }],
  ] as const)('of the extended contract %s may be empty, and is charged', async (_, asked, { source }) => {
    alpha.play(streams(asked.provider))
    for (const stream of [true, false]) {
      const { outcome, delivered } = await call({ stream, extended: true, ...asked })
      expect(delivered).toEqual(stream ? [['open', 0]] : [])
      expect(outcome).toMatchObject({
        status: 'completed',
        finishReason: 'stop',
        message: { content: '' },
        usageSource: source,
        attempts: [{ offerId: 'alpha/large-1', outcome: 'ok' }],
      })
      const { usage } = outcome as Extract<CallOutcome, { status: 'completed' }>
      expect(usage.promptTokens).toBeGreaterThan(0)
    }
  })

  test.each([
    ['no usage', EMPTY],
    ['usage that cannot be', finishEvent() + usageEvent(0, 0) + DONE],
    ['a call that is missing', finishEvent('tool_calls') + usageEvent(7, 1) + DONE],
    ['a reason of its own', finishEvent('whatever') + usageEvent(7, 1) + DONE],
  ])('of the extended contract that is empty with %s is a failure', async (_, provider) => {
    alpha.play(streams(provider))
    beta.play(streams(wholeStream('Hello')))
    expect(outcomes(await call({ extended: true }))).toEqual([
      'alpha/large-1 empty-answer',
      'beta/large-1 ok',
    ])
  })

  test('that reached its limit before it said anything is an answer, and charged', async () => {
    alpha.play(streams(finishEvent('length') + usageEvent(7, 64) + DONE))
    const { outcome, delivered } = await call({ candidates: [{ reasoning: true }] })
    expect(delivered).toEqual([['open', 0]])
    expect(outcome).toMatchObject({
      status: 'completed',
      finishReason: 'length',
      usage: { completionTokens: 64 },
    })
  })

  test('without usage is counted, from the prompt and what was delivered', async () => {
    alpha.play(streams(textEvent('hello world') + finishEvent() + DONE))
    expect((await call()).outcome).toMatchObject({
      usageSource: 'counted',
      usageClamped: false,
      usage: { promptTokens: 9, completionTokens: 2 },
    })
  })

  test('with one figure that cannot be keeps the other as its provider reported it', async () => {
    alpha.play(streams(textEvent('hello world') + finishEvent() + usageEvent(11, 9_999) + DONE))
    const usage = { promptTokens: 11, completionTokens: 2 }
    expect((await call()).outcome).toMatchObject({ usage, usageSource: 'counted', usageClamped: true })
  })

  test('is charged by the true usage that follows upon zeros', async () => {
    const zeros = event({
      choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
      usage: { prompt_tokens: 0, completion_tokens: 0 },
    })
    alpha.play(streams(textEvent('hello world') + zeros + usageEvent(7, 11) + DONE))
    const usage = { promptTokens: 7, completionTokens: 11 }
    expect((await call()).outcome).toMatchObject({ usage, usageSource: 'upstream', usageClamped: false })
  })

  test('whose usage came only before its end is counted by us, and costs no less than that', async () => {
    alpha.play(streams(textEvent('hello ') + usageEvent(7, 1) + textEvent('world') + finishEvent() + DONE))
    const usage = { promptTokens: 7, completionTokens: 2 }
    expect((await call()).outcome).toMatchObject({ usage, usageSource: 'counted', usageClamped: false })
    alpha.play(streams(textEvent('hello world') + usageEvent(7, 40) + finishEvent() + DONE))
    expect((await call()).outcome).toMatchObject({ usage: { promptTokens: 7, completionTokens: 40 } })
  })

  test('a prompt above its bound is charged as counted, teaches the offer once and raises one alarm', async () => {
    const told: object[] = []
    const logger = createLogger('silent', 'test')
    logger.error = ((fields: object) => told.push(fields)) as never
    const watching = { redis, subscriber, now: Date.now, logger }
    const settings = { breakerFailures: 5, breakerWindowMs: 30_000, breakerCooldownMs: 10_000 }
    const follower = await followOfferHealth(watching)
    const teller = await createBreakerBoard({ ...watching, settings })
    const learned = () => follower.learnedTokens('alpha/large-1', 'text')
    for (const _ of ['first', 'repeated']) {
      alpha.play(streams(textEvent('hello world') + finishEvent() + usageEvent(150, 2) + DONE))
      const { outcome } = await call({ deps: { logger, board: teller } })
      expect(outcome).toMatchObject({
        usage: { promptTokens: 150, completionTokens: 2 },
        usageSource: 'upstream',
        usageClamped: false,
      })
      // 141 more than our own count of 9, rounded up.
      await expect.poll(learned).toBe(192)
    }
    expect(told).toMatchObject([
      {
        alarm: 'prompt-bound-exceeded',
        offerId: 'alpha/large-1',
        reportedPrompt: 150,
        bound: 100,
        learned: 192,
      },
    ])
    expect(follower.excludes('alpha/large-1', 'text', 'acct_1')).toBe(false)
    expect(await enableOffer(redis, 'alpha/large-1')).toEqual([])
    await expect.poll(learned).toBe(0)
    follower.stop()
    await teller.close()
  })

  test('that should be JSON is repaired when it is given whole, and left alone when streamed or cut', async () => {
    const parameters = { response_format: { type: 'json_object' } }
    alpha.play(streams(wholeStream('{"a": 1,}')))
    const whole = await call({ stream: false, parameters })
    expect(whole.outcome).toMatchObject({ message: { content: expect.stringMatching(/^\{"a": 1\s*\}$/) } })
    expect((await call({ parameters })).text).toBe('{"a": 1,}')
    alpha.play(streams(textEvent('{"a": [1') + finishEvent('length') + DONE))
    const cut = await call({ stream: false, parameters })
    expect(cut.outcome).toMatchObject({ message: { content: '{"a": [1' }, finishReason: 'length' })
  })
})

describe('before the first token', () => {
  const FAULTS = {
    'server-error': refuses(503),
    reset: (response: Parameters<typeof hangs>[0]) => void response.socket?.destroy(),
    silent: hangs,
  }

  test.each(Object.entries(FAULTS))(
    '%s: the next provider answers before the first token, invisibly for the client',
    async (kind, script) => {
      alpha.play(script)
      beta.play(streams(wholeStream('from beta')))
      for (const stream of [true, false]) {
        const answer = await call({ stream, deps: kind === 'silent' ? IMPATIENT : {} })
        expect(answer.outcome).toMatchObject({ status: 'completed', message: { content: 'from beta' } })
        if (stream) expect(answer.delivered[0]).toEqual(['open', 1])
        if (stream) expect(outcomes(answer)).toEqual([`alpha/large-1 ${kind}`, 'beta/large-1 ok'])
      }
    },
  )

  test('Retry-After is waited for where there is no other provider', async () => {
    alpha.play(refuses(429, null, { 'retry-after': '0.2' }), streams(wholeStream('later')))
    const startedAt = performance.now()
    const answer = await call({ offers: bothOffers().slice(0, 1) })
    expect(answer.text).toBe('later')
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(190)
  })

  test('a silent provider is asked once, given more patience when it is the last, and 504 at the end', async () => {
    alpha.play(hangs)
    const settings = { ...PATIENT, firstTokenTimeoutMs: 1, lastFirstTokenTimeoutMs: 600 }
    const startedAt = performance.now()
    const answer = await call({ offers: bothOffers().slice(0, 1), deps: { settings } })
    expect(answer.outcome).toMatchObject({ status: 'failed', error: { code: 'upstream_timeout' } })
    expect(alpha.requests).toHaveLength(1)
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(settings.lastFirstTokenTimeoutMs)
  })

  test('the whole call ends by its deadline', async () => {
    alpha.play(hangs)
    const answer = await call({ timeoutMs: 100 })
    expect(answer.outcome).toMatchObject({ status: 'failed', error: { code: 'upstream_timeout' } })
    expect(beta.requests).toHaveLength(0)
  })

  test('failures open the breaker, and the offer is passed over from then on', async () => {
    alpha.play(refuses(500))
    beta.play(streams(wholeStream('from beta')))
    for (let count = 0; count < 5; count++) await call()
    await eventually(() => expect(board.health('alpha/large-1', 'acct_1').kind).toBe('down'))
    const answer = await call()
    expect(outcomes(answer)).toEqual(['beta/large-1 ok'])
    const alone = await call({ offers: bothOffers().slice(0, 1) })
    expect(alone.outcome).toMatchObject({
      status: 'failed',
      error: { code: 'no_provider_available', retryAfterSeconds: expect.any(Number) },
    })
  })

  test('a spent retry budget leaves a first failover to another provider, and nothing more', async () => {
    const spent = createRetryBudget({
      redis,
      limits: { percent: 0, floor: 0 },
      now: Date.now,
      logger: createLogger('silent', 'test'),
    })
    alpha.play(refuses(500))
    const alone = await call({ offers: bothOffers().slice(0, 1), deps: { budget: spent } })
    expect(alone.outcome).toMatchObject({ status: 'failed', error: { code: 'all_providers_failed' } })
    expect(alone.outcome.attempts).toHaveLength(1)
    alpha.play(refuses(500))
    beta.play(streams(wholeStream('ok')))
    expect((await call({ deps: { budget: spent } })).outcome).toMatchObject({ status: 'completed' })
    alpha.play(refuses(500))
    beta.play(refuses(500))
    const both = await call({ deps: { budget: spent } })
    await spent.close()
    expect(both.outcome.attempts).toHaveLength(2)
  })

  test('an offer that left the catalog is passed over', async () => {
    alpha.play(streams(wholeStream('ok')))
    const [first] = bothOffers()
    const gone = { ...first!, id: 'gone/large-1' }
    const catalog = snapshot([], [first!])
    const answer = await call({ offers: [gone, first!], deps: { catalog: () => catalog } })
    expect(outcomes(answer)).toEqual(['alpha/large-1 ok'])
  })
})

describe('a probe of a half-open breaker', () => {
  const OFFER_ID = 'alpha/large-1'

  test('is known to answer as soon as its content comes, once', async () => {
    const cooledDown = { reason: 'failing', cooldownMs: 1_000, untilMs: Date.now() - 1 } as const
    const entry = formatBreakerEntry(cooledDown)
    await redis.hset(HEALTH_BREAKERS, OFFER_ID, entry)
    await redis.publish(HEALTH_CHANNEL, JSON.stringify(['breaker', OFFER_ID, entry]))
    await eventually(() => expect(board.health(OFFER_ID, 'acct_1')).toEqual({ kind: 'probe' }))
    const answers = vi.spyOn(board, 'probeAnswers')
    alpha.play(streams(wholeStream('Hel', 'lo')))
    // A healthy offer would be preferred.
    await call({ offers: bothOffers().slice(0, 1) })
    expect(answers).toHaveBeenCalledExactlyOnceWith(OFFER_ID, expect.objectContaining({ subject: OFFER_ID }))
    await eventually(() => expect(board.health(OFFER_ID, 'acct_1')).toEqual({ kind: 'ready' }))
  })

  test('is nothing that a call of a healthy offer makes', async () => {
    const answers = vi.spyOn(board, 'probeAnswers')
    alpha.play(streams(wholeStream('Hello')))
    await call()
    expect(answers).not.toHaveBeenCalled()
  })
})

describe('the speed of an offer', () => {
  test('is measured by whole answers, never by one that took over from another', async () => {
    const meter = { operation: vi.fn(), attempt: vi.fn(), answer: vi.fn() }
    alpha.play(streams(wholeStream('The quick brown fox')))
    await call({ deps: { meter } })
    expect(meter.answer).toHaveBeenCalledOnce()
    alpha.play(streamsAndBreaks(textEvent('The quick brown')))
    beta.play(streams(wholeStream('The quick brown fox')))
    const rescued = await call({ deps: { meter } })
    expect(rescued.outcome).toMatchObject({ status: 'completed', served: { offerId: 'beta/large-1' } })
    expect(meter.answer).toHaveBeenCalledOnce()
  })
})

describe('after the first token', () => {
  test('a whole call fails over freely, and the first attempt’s text is dropped', async () => {
    alpha.play(streamsAndBreaks(textEvent('half an')))
    beta.play(streams(wholeStream('whole answer')))
    expect((await call({ stream: false })).outcome).toMatchObject({
      status: 'completed',
      message: { content: 'whole answer' },
      usage: { promptTokens: 7, completionTokens: 11 },
    })
  })

  test.each([
    ['cut', streamsAndBreaks],
    ['stalled', streamsOpenEnded],
  ])('a %s stream is rescued by a provider that says the same, without a seam', async (how, breaks) => {
    alpha.play(breaks(textEvent('The quick ') + textEvent('brown')))
    beta.play(streams(wholeStream('The qui', 'ck brown fox', ' jumps')))
    const answer = await call({ deps: how === 'stalled' ? IMPATIENT : {} })
    expect(answer.text).toBe('The quick brown fox jumps')
    expect(answer.delivered.filter((heard) => Array.isArray(heard) && heard[0] === 'open')).toEqual([
      ['open', 0],
    ])
    expect(answer.outcome).toMatchObject({
      status: 'completed',
      message: { content: 'The quick brown fox jumps' },
      usage: { promptTokens: 7, completionTokens: 11 },
      served: { offerId: 'beta/large-1' },
    })
  })

  test('a provider that says something else takes over not one byte, and is stopped', async () => {
    alpha.play(streamsAndBreaks(textEvent('The quick brown')))
    beta.play(streamsOpenEnded(textEvent('The quick red') + textEvent(' fox')))
    const aborted = beta.aborted()
    const answer = await call()
    await aborted
    expect(answer.text).toBe('The quick brown')
    expect(answer.outcome).toMatchObject({
      status: 'interrupted',
      error: { code: 'all_providers_failed' },
      message: { content: 'The quick brown' },
      served: { offerId: 'alpha/large-1' },
      usageSource: 'counted',
      usage: { promptTokens: 9, completionTokens: 3 },
    })
    expect(outcomes(answer)).toContain('beta/large-1 rescue-mismatch')
  })

  test('where the target continues a text by prefill, it is asked to', async () => {
    alpha.play(streamsAndBreaks(textEvent('The quick brown')))
    beta.play(streams(wholeStream(' fox')))
    const answer = await call({ offers: bothOffers({ assistantPrefill: true }) })
    expect(answer.text).toBe('The quick brown fox')
    expect(beta.requests[0]?.body).toMatchObject({
      messages: [
        { role: 'user', content: 'hello world' },
        { role: 'assistant', content: 'The quick brown' },
      ],
      max_tokens: 64 - 3,
    })
    expect(answer.outcome).toMatchObject({
      status: 'completed',
      usageSource: 'counted',
      usage: { promptTokens: 9, completionTokens: 4 },
    })
  })

  const callEvent = (json: string) => {
    const delta = { index: 0, id: 'a', function: { name: 'f', arguments: json } }
    return event({ choices: [{ index: 0, delta: { tool_calls: [delta] } }] })
  }

  test('a tool call is said again by another offer, never continued by prefill', async () => {
    alpha.play(streamsAndBreaks(callEvent('{"a"')))
    beta.play(streams(callEvent('{') + callEvent('"a":1}') + finishEvent('tool_calls') + DONE))
    const answer = await call({ offers: bothOffers({ assistantPrefill: true }) })
    expect(answer.outcome).toMatchObject({
      status: 'completed',
      finishReason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'f', arguments: '{"a":1}' } }] },
    })
    expect(beta.requests[0]?.body.messages).toHaveLength(1)
  })
})
