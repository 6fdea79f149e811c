import { beforeAll, describe, expect, test } from 'vitest'
import { accountKeys } from '../../src/platform/redis/redis-keys.ts'
import { countTextTokens } from '../../src/providers/count-tokens.ts'
import { testStack } from '../helpers/resources.ts'
import {
  type Call,
  caller,
  completionOf,
  expectError,
  expectErrorText,
  readStream,
  recordOf,
  textOf,
} from './wire.ts'

const BALANCE_PICO = 20_000_000_000_000n
const RATE = { prompt: 1_000_000n, completion: 2_000_000n }
/** A cut after five tokens leaves this much of the answer. */
const FIVE_TOKENS = /^\S+( \S+){4}$/

/** The answer is whole: same text as a healthy provider gives. */
interface Whole {
  kind: 'whole'
}
/** Nothing was delivered: the true status, and no charge. */
interface Refused {
  kind: 'refused'
  status: number
  code: string
  attempts: number
  retryAfter?: true
}
/** Streamed only: part of an answer, then an error chunk and no end marker; the part is charged. */
interface BrokenOff {
  kind: 'broken-off'
  code: string
  reason: RegExp
}
type Outcome = Whole | Refused | BrokenOff

interface FaultCase {
  /** A behaviour of docs/simulated-providers.md. */
  fault: string
  alone: { streamed: Outcome; whole: Outcome }
  /** With a healthy second candidate of the same model. */
  helped: Outcome
}

const WHOLE: Whole = { kind: 'whole' }
const refused = (status: number, code: string, attempts: number): Refused => ({
  kind: 'refused',
  status,
  code,
  attempts,
})
const failed = (attempts: number) => refused(502, 'all_providers_failed', attempts)
const timedOut = refused(504, 'upstream_timeout', 1)
const rateLimited = (attempts: number): Refused => ({
  ...refused(503, 'no_provider_available', attempts),
  retryAfter: true,
})
const both = (fault: string, outcome: Outcome, helped: Outcome = WHOLE): FaultCase => ({
  fault,
  alone: { streamed: outcome, whole: outcome },
  helped,
})
const breaksOff = (fault: string, code: string, whole: Outcome, reason = /was interrupted/): FaultCase => ({
  fault,
  alone: { streamed: { kind: 'broken-off', code, reason }, whole },
  helped: WHOLE,
})

/** The contract's table "what the provider does, and what we do", and every form an answer may take. */
const CASES: FaultCase[] = [
  both('status-500', failed(2)),
  both('status-503', failed(2)),
  both('status-408', failed(2)),
  both('status-429', rateLimited(2)),
  both('status-429-retry-1', rateLimited(3)),
  both('status-401', failed(1)),
  both('status-402', failed(1)),
  both('status-403', failed(1)),
  both('status-404', failed(1)),
  both('status-400', refused(400, 'invalid_request', 1), refused(400, 'invalid_request', 1)),
  both(
    'status-400-context',
    refused(400, 'context_length_exceeded', 1),
    refused(400, 'context_length_exceeded', 1),
  ),
  both(
    'status-400-policy',
    refused(400, 'content_policy_violation', 1),
    refused(400, 'content_policy_violation', 1),
  ),
  both('reset', failed(2)),
  both('hang', timedOut),
  both('slow-headers', timedOut),
  both('hang-after-headers', timedOut),
  both('hang-after-role', timedOut),
  both('error-body-200', failed(2)),
  both('html-200', failed(2)),
  breaksOff('cut-after-5', 'all_providers_failed', failed(2)),
  breaksOff('reset-after-5', 'all_providers_failed', failed(2)),
  breaksOff('end-after-5', 'all_providers_failed', failed(2)),
  breaksOff('error-event-5', 'all_providers_failed', failed(2), /failed \(an error of the provider\)/),
  breaksOff('stall-after-5', 'upstream_timeout', timedOut),
  both('flaky-1', WHOLE),
  both('slow-headers-300', WHOLE),
  both('malformed-event', WHOLE),
  both('missing-done', WHOLE),
  both('missing-usage', WHOLE),
  both('absurd-usage', WHOLE),
  both('negative-usage', WHOLE),
  both('gzip', WHOLE),
  both('ignore-stream', WHOLE),
  both('crlf', WHOLE),
  both('comments', WHOLE),
  both('burst-4', WHOLE),
  both('latency-200', WHOLE),
  both('reasoning-40', WHOLE),
]

/** Each way of calling has offers of its own, so that no breaker carries over from one to another. */
const WAYS = [
  { name: 'streamed', stream: true, helped: false },
  { name: 'whole', stream: false, helped: false },
  { name: 'streamed-helped', stream: true, helped: true },
  { name: 'whole-helped', stream: false, helped: true },
] as const

const modelOf = (fault: string, way: string) => `fault/${fault}.${way}`

function faultModels() {
  return Object.fromEntries(
    CASES.flatMap(({ fault }) =>
      WAYS.map(({ name, helped }) => {
        const behaviour = `words-12.tag-${name}.${fault}`
        const broken = { at: 'alpha', model: behaviour }
        const healthy = { at: 'beta', model: `words-12.tag-${name}-${fault}` }
        return [modelOf(fault, name), helped ? [broken, healthy] : [broken]] as const
      }),
    ),
  )
}

let call: Call
let accountId: string
let healthyText: string
/** All calls of the table run at once; each test then looks at its own. */
const answers = new Map<string, Promise<Answer>>()
const CASES_AT_ONCE = 4
/** These run into a limit of time, so they go first, and the others do not wait for them. */
const SLOW = ['hang', 'slow-headers', 'hang-after-headers', 'hang-after-role', 'stall-after-5']
let slowToBegin: Promise<Answer>
let failsLate: Promise<Answer>

interface Answer {
  response: Response
  text: string
}

async function answerOf(body: Record<string, unknown>): Promise<Answer> {
  const response = await call(body)
  return { response, text: await response.text() }
}

const stack = testStack({
  models: {
    ...faultModels(),
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/multibyte': [{ at: 'alpha', model: 'words-30.multibyte.split-bytes' }],
    'test/empty': [{ at: 'alpha', model: 'empty' }],
    'test/preamble': [{ at: 'alpha', model: 'words-12.preamble-700' }],
    'test/refusing': [{ at: 'alpha', model: 'refuse' }],
    'test/filtered': [{ at: 'alpha', model: 'words-12.finish-content_filter' }],
    'test/long': [{ at: 'alpha', model: 'words-300' }],
    'test/other-text': [
      { at: 'alpha', model: 'words-12.cut-after-5' },
      { at: 'beta', model: 'words-12.different-text' },
    ],
    'test/prefill': [
      { at: 'alpha', model: 'words-40.cut-after-5.tag-prefill' },
      { at: 'beta', model: 'words-40.prefill', assistant_prefill: true },
    ],
    'test/thinks-then-hangs': {
      reasoning: true,
      offers: [{ at: 'alpha', model: 'hang-after-role.tag-keepalive' }],
    },
    'test/thinks-long': { reasoning: true, offers: [{ at: 'alpha', model: 'words-12.first-token-6500' }] },
  },
  environment: {
    CONNECT_TIMEOUT_MS: '1000',
    // Only what never comes runs into these, on a busy machine too.
    FIRST_TOKEN_TIMEOUT_MS: '4000',
    LAST_FIRST_TOKEN_TIMEOUT_MS: '5000',
    REASONING_LAST_FIRST_TOKEN_TIMEOUT_MS: '9000',
    IDLE_TIMEOUT_MS: '4000',
    KEEP_ALIVE_MS: '6000',
    ATTEMPTS_PER_CALL: '3',
    RETRY_BUDGET_PERCENT: '100',
    RETRY_BUDGET_FLOOR: '10000',
  },
})
beforeAll(async () => {
  const account = await stack.account('20.00')
  accountId = account.accountId
  call = caller(stack, account)
  healthyText = (await textOf(await call({ model: 'test/plain' }))) ?? ''
  expect(healthyText.split(' ')).toHaveLength(12)
  slowToBegin = answerOf({ model: 'test/thinks-long', stream: true })
  failsLate = answerOf({ model: 'test/thinks-then-hangs', stream: true })
  const begin = (faults: FaultCase[]) =>
    Promise.all(
      faults.flatMap(({ fault }) =>
        WAYS.map(({ name, stream }) => {
          const model = modelOf(fault, name)
          const answer = answerOf({ model, stream, provider: { order: ['alpha', 'beta'] } })
          answers.set(model, answer)
          return answer
        }),
      ),
    )
  const slow = begin(CASES.filter(({ fault }) => SLOW.includes(fault)))
  const others = CASES.filter(({ fault }) => !SLOW.includes(fault))
  for (let first = 0; first < others.length; first += CASES_AT_ONCE) {
    await begin(others.slice(first, first + CASES_AT_ONCE))
  }
  await slow
})

describe.each(CASES)('a provider with $fault', ({ fault, alone, helped }) => {
  test.each(WAYS)('has the outcome of the contract, $name', async (way) => {
    const outcome = way.helped ? helped : way.stream ? alone.streamed : alone.whole
    const answer = await answers.get(modelOf(fault, way.name))!
    switch (outcome.kind) {
      case 'whole':
        await expectWhole(answer, way.stream)
        break
      case 'refused':
        await expectRefused(answer, outcome)
        break
      case 'broken-off':
        await expectBrokenOff(answer, outcome)
        break
      default:
        outcome satisfies never
    }
  })
})

async function expectWhole({ response, text }: Answer, isStream: boolean): Promise<void> {
  expect(response.status).toBe(200)
  if (isStream) {
    const stream = readStream(text)
    expect(stream.content).toBe(healthyText)
    expect(stream.isDone).toBe(true)
    expect(stream.last.choices[0]!.finish_reason).toBe('stop')
  } else {
    const { choices } = JSON.parse(text)
    expect(choices).toEqual([
      { index: 0, message: { role: 'assistant', content: healthyText }, finish_reason: 'stop' },
    ])
  }
  await expectExactCharge(response, 'completed')
}

async function expectRefused({ response, text }: Answer, outcome: Refused): Promise<void> {
  expectErrorText(response, text, outcome.status, outcome.code)
  const retryAfter = response.headers.get('retry-after')
  if (outcome.retryAfter) {
    expect(Number(retryAfter)).toBeGreaterThanOrEqual(1)
    expect(Number(retryAfter)).toBeLessThanOrEqual(60)
  } else expect(retryAfter).toBeNull()
  await stack.settled(accountId)
  const record = await recordOf(stack, response)
  expect(record).toMatchObject({ status: 'failed', errorCode: outcome.code, chargePico: 0n })
  expect(record.attempts).toHaveLength(outcome.attempts)
}

async function expectBrokenOff({ response, text }: Answer, outcome: BrokenOff): Promise<void> {
  expect(response.status).toBe(200)
  const stream = readStream(text)
  expect(stream.isDone).toBe(false)
  expect(stream.content).toMatch(FIVE_TOKENS)
  expect(healthyText.startsWith(stream.content)).toBe(true)
  expect(stream.last.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'error' }])
  expect(stream.last.error).toEqual({
    message: expect.stringMatching(outcome.reason),
    type: 'upstream_error',
    param: null,
    code: outcome.code,
    request_id: response.headers.get('x-request-id'),
  })
  await expectExactCharge(response, 'interrupted')
}

/** What was delivered costs exactly its tokens at the listed rate, and never more than was held. */
async function expectExactCharge(response: Response, status: string): Promise<void> {
  await stack.settled(accountId)
  const record = await recordOf(stack, response)
  expect(record.status).toBe(status)
  const { promptTokens, completionTokens, chargePico, holdPico } = record
  expect(chargePico).toBe(BigInt(promptTokens) * RATE.prompt + BigInt(completionTokens) * RATE.completion)
  expect(chargePico).toBeLessThanOrEqual(holdPico)
}

describe('the bytes of an answer', () => {
  test('are those of the golden completion', async () => {
    const text = await (await call({ model: 'test/plain' })).text()
    await expect(`${normalized(text)}\n`).toMatchFileSnapshot('../golden/completion.json.txt')
  })

  test('are those of the golden stream', async () => {
    const response = await call({ model: 'test/plain', stream: true })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('cache-control')).toContain('no-cache')
    await expect(normalized(await response.text())).toMatchFileSnapshot('../golden/stream.sse.txt')
  })

  test('are those of the golden stream of a tool call', async () => {
    const response = await call({
      model: 'test/plain',
      stream: true,
      messages: [{ role: 'user', content: 'Use find_train for "Basel".' }],
      tools: [FIND_TRAIN],
    })
    await expect(normalized(await response.text())).toMatchFileSnapshot('../golden/tool-call-stream.sse.txt')
  })
})

const FIND_TRAIN = {
  type: 'function',
  function: {
    name: 'find_train',
    parameters: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] },
  },
}

const normalized = (text: string): string =>
  text.replace(/chatcmpl_[0-9A-Z]{26}/g, 'chatcmpl_ID').replace(/"created":\d{10}\b/g, '"created":0')

describe.concurrent('a stream', () => {
  test('gives the role in its first delta only, and usage with the finish reason only', async () => {
    const response = await call({
      model: 'test/plain',
      stream: true,
      stream_options: { include_usage: true },
    })
    const { chunks, last } = readStream(await response.text())
    expect(chunks.map((chunk) => chunk.choices[0]!.delta.role)).toEqual([
      'assistant',
      ...chunks.slice(1).map(() => undefined),
    ])
    expect(chunks.filter((chunk) => chunk.usage !== undefined)).toEqual([last])
    expect(last.choices[0]!.finish_reason).toBe('stop')
    expect(chunks.every((chunk) => chunk.choices.length === 1)).toBe(true)
    expect(last.usage!.total_tokens).toBe(last.usage!.prompt_tokens + last.usage!.completion_tokens)
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1)
  })

  test('has the usage that is charged where the provider gives none, streaming or not', async () => {
    const streamed = readStream(
      await (await call({ model: modelOf('missing-usage', 'streamed'), stream: true })).text(),
    )
    expect(streamed.isDone).toBe(true)
    expect(streamed.last.usage).toMatchObject({ prompt_tokens: expect.any(Number) })
    const whole = await call({ model: modelOf('missing-usage', 'whole') })
    const { usage } = await completionOf(whole)
    await stack.settled(accountId)
    const { promptTokens, completionTokens, ...record } = await recordOf(stack, whole)
    expect(record).toMatchObject({ usageSource: 'counted', status: 'completed' })
    expect(usage).toMatchObject({ prompt_tokens: promptTokens, completion_tokens: completionTokens })
  })

  test('carries every character whole, however the provider cut its bytes', async () => {
    const whole = await completionOf(await call({ model: 'test/multibyte' }))
    const stream = readStream(await (await call({ model: 'test/multibyte', stream: true })).text())
    expect(stream.content).toBe(whole.choices[0]!.message.content)
    expect(stream.content).toContain('Grüße naïve 漢字 ΔΕΖ 🎉 a👩‍👩‍👧b עברית ½')
  })

  test('without any content is a failed call', async () => {
    await expectError(await call({ model: 'test/empty', stream: true }), 502, 'all_providers_failed')
    await expectError(await call({ model: 'test/empty' }), 502, 'all_providers_failed')
  })

  test('passes a refusal and a finish reason on', async () => {
    const refusal = await completionOf(await call({ model: 'test/refusing' }))
    expect(refusal.choices[0]!.message).toMatchObject({ content: null, refusal: expect.stringMatching(/\w/) })
    const stream = readStream(await (await call({ model: 'test/refusing', stream: true })).text())
    expect(stream.chunks.map((chunk) => chunk.choices[0]!.delta.refusal ?? '').join('')).toBe(
      refusal.choices[0]!.message.refusal,
    )
    const filtered = await completionOf(await call({ model: 'test/filtered' }))
    expect(filtered.choices[0]!.finish_reason).toBe('content_filter')
    const cut = readStream(await (await call({ model: 'test/long', stream: true, max_tokens: 7 })).text())
    expect(cut.last.choices[0]!.finish_reason).toBe('length')
  })

  test('never mixes two answers: a rescue that says something else is dropped', async () => {
    const answer = await answerOf({
      model: 'test/other-text',
      stream: true,
      provider: { order: ['alpha', 'beta'] },
    })
    await expectBrokenOff(answer, {
      kind: 'broken-off',
      code: 'all_providers_failed',
      reason: /was interrupted/,
    })
  })

  test('is continued through assistant prefill where the target is known to support it', async () => {
    const response = await call({
      model: 'test/prefill',
      stream: true,
      provider: { order: ['alpha', 'beta'] },
    })
    const stream = readStream(await response.text())
    expect(stream.isDone).toBe(true)
    const undisturbed = await call({ model: 'test/prefill', provider: { only: ['beta'] } })
    expect(stream.content).toBe(await textOf(undisturbed))
    await expectExactCharge(response, 'completed')
  })

  test('a slow stream is kept alive by comments and then continues', async () => {
    const { response, text } = await slowToBegin
    expect(response.status).toBe(200)
    const stream = readStream(text)
    expect(new Set(stream.comments)).toEqual(new Set([': keep-alive']))
    expect(stream.content).toBe(healthyText)
    expect(stream.isDone).toBe(true)
  })

  test('that fails after a keep-alive ends in an error chunk, without [DONE], for free', async () => {
    const { response, text } = await failsLate
    expect(response.status).toBe(200)
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('1000000')
    const stream = readStream(text)
    expect(new Set(stream.comments)).toEqual(new Set([': keep-alive']))
    expect(stream.isDone).toBe(false)
    expect(stream.chunks).toHaveLength(1)
    expect(stream.last.error).toMatchObject({ code: 'upstream_timeout', type: 'upstream_error' })
    expect(stream.last.choices[0]!.finish_reason).toBe('error')
    await stack.settled(accountId)
    expect(await recordOf(stack, response)).toMatchObject({ status: 'failed', chargePico: 0n })
  })
})

describe('usage that cannot be', () => {
  test('is replaced by our own count, marked, and reported as that', async () => {
    const absurd = await call({ model: modelOf('absurd-usage', 'whole'), max_tokens: 50 })
    const { choices, usage } = await completionOf(absurd)
    const completionTokens = await countTextTokens(choices[0]!.message.content!)
    const counted = { usageClamped: true, usageSource: 'counted', completionTokens }
    const negative = await call({ model: modelOf('negative-usage', 'whole'), max_tokens: 50 })
    await stack.settled(accountId)
    expect(await recordOf(stack, absurd)).toMatchObject(counted)
    expect(await recordOf(stack, negative)).toMatchObject(counted)
    expect(usage!.completion_tokens).toBe(completionTokens)
  })
})

test('a preamble that the provider counts is charged at each call, and closes no offer', async () => {
  const model = 'test/preamble'
  const holds: bigint[] = []
  for (const _ of ['before anything is learned', 'after it', 'once more']) {
    const answer = await call({ model, max_tokens: 5_000 })
    const { usage } = await completionOf(answer)
    expect(usage!.prompt_tokens).toBeGreaterThan(700)
    await stack.settled(accountId)
    const { promptTokens, holdPico, usageSource, usageClamped } = await recordOf(stack, answer)
    expect({ promptTokens, usageSource, usageClamped }).toEqual({
      promptTokens: usage!.prompt_tokens,
      usageSource: 'upstream',
      usageClamped: false,
    })
    holds.push(holdPico)
  }
  expect(holds[1]! - holds[0]!).toBe(holds[2]! - holds[0]!)
  expect(holds[1]!).toBeGreaterThan(holds[0]!)
})

test('leaves the account with its opening balance less exactly what was charged', async () => {
  await stack.settled(accountId)
  const charged = await stack.postgres.callRecord.aggregate({
    _sum: { chargePico: true },
    where: { accountId },
  })
  const account = await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })
  expect(account.balancePico).toBe(BALANCE_PICO - charged._sum.chargePico!)
  expect(await stack.redis.hget(accountKeys(accountId).record, 'avail')).toBe(String(account.balancePico))
})
