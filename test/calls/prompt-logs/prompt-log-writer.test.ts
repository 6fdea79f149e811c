import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { PromptLog } from '../../../src/calls/prompt-logs/prompt-log-store.ts'
import { createPromptLogs, PROMPT_LOG_BYTES } from '../../../src/calls/prompt-logs/prompt-log-writer.ts'
import type { FrameBody } from '../../../src/core/calls/frames.ts'
import type { CallId } from '../../../src/core/kernel/ids.ts'

const CALL = { accountId: 'acct_1', keyId: 'key_1', callId: 'chatcmpl_1' as CallId, days: 7 }

function setUp({
  put = async () => undefined,
  heldCharsMax,
}: {
  put?: () => Promise<boolean | undefined>
  heldCharsMax?: number
} = {}) {
  const stored: PromptLog[] = []
  const registry = new Registry()
  const logs = createPromptLogs({
    store: {
      put: async (_, log) => {
        if ((await put()) === false) return false
        stored.push(log)
        return true
      },
    },
    registry,
    logger: pino({ level: 'silent' }),
    ...(heldCharsMax !== undefined && { heldCharsMax }),
  })
  const passed: FrameBody[] = []
  const begin = (request: unknown = { messages: [] }) =>
    logs.watch(
      { frame: (body) => void passed.push(body), flush: () => undefined, tick: () => undefined },
      { ...CALL, request: logs.readPrompt(request) },
    )
  const outcomes = async () => {
    const metric = await registry.getSingleMetric('shuntyard_prompt_logs_total')!.get()
    return Object.fromEntries(metric.values.map(({ labels, value }) => [labels.outcome, value]))
  }
  return { logs, stored, passed, begin, outcomes }
}

const FINISH: FrameBody = ['finish', 'stop', null]

test('a stream is passed on as it is, and stored with its request once it has ended', async () => {
  const { logs, stored, passed, begin, outcomes } = setUp()
  const { sink, end } = begin({ model: 'a', messages: [{ role: 'user', content: 'Hi' }] })
  const frames: FrameBody[] = [
    ['open', 0],
    ['text', 'Good '],
    ['text', 'day'],
    ['tool-calls', [{ index: 0, id: 'c1', function: { name: 'f', arguments: '{}' } }]],
    FINISH,
  ]
  for (const frame of frames) sink.frame(frame)
  end()
  await logs.close()
  expect(passed).toEqual(frames)
  expect(stored).toHaveLength(1)
  expect(JSON.parse(stored[0]!.request)).toMatchObject({ messages: [{ content: 'Hi' }] })
  expect(JSON.parse(stored[0]!.answer)).toEqual({
    content: 'Good day',
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
  })
  expect(await outcomes()).toEqual({ stored: 1 })
})

test('a whole answer, one that broke off and one whose client left are stored', async () => {
  const { logs, stored, begin } = setUp()
  begin().sink.frame(['completion', 0, { content: 'All of it' }, 'stop', null])
  const broken = begin()
  broken.sink.frame(['text', 'Some'])
  broken.sink.frame(['error', { code: 'all_providers_failed', message: '' }])
  const left = begin()
  left.sink.frame(['text', 'Half'])
  left.end()
  await logs.close()
  expect(stored.map(({ answer }) => JSON.parse(answer).content)).toEqual(['All of it', 'Some', 'Half'])
})

test('a call that produced nothing is not stored, and its text makes room', async () => {
  const { logs, stored, begin, outcomes } = setUp({ heldCharsMax: 1_000 })
  for (let call = 0; call < 20; call++) {
    const failed = begin({ messages: ['a'.repeat(500)] })
    if (call % 2) failed.sink.frame(['error', { code: 'content_policy_violation', message: '' }])
    failed.end()
  }
  await logs.close()
  expect(stored).toEqual([])
  expect(await outcomes()).toEqual({})
})

test('a log that its account has no room for is counted as refused', async () => {
  const { logs, begin, outcomes } = setUp({ put: async () => false })
  begin().sink.frame(FINISH)
  await logs.close()
  expect(await outcomes()).toEqual({ refused: 1 })
})

test('what is too long is cut, and marked so', async () => {
  const { logs, stored, begin } = setUp()
  const { sink } = begin({ messages: [{ content: 'x'.repeat(2 * PROMPT_LOG_BYTES) }] })
  for (let sent = 0; sent < 5; sent++) sink.frame(['text', 'y'.repeat(PROMPT_LOG_BYTES / 4)])
  sink.frame(FINISH)
  begin().sink.frame(['completion', 0, { content: 'z'.repeat(2 * PROMPT_LOG_BYTES) }, 'stop', null])
  await logs.close()
  expect(stored[0]).toMatchObject({ isRequestTruncated: true, isAnswerTruncated: true })
  expect(stored[1]).toMatchObject({ isRequestTruncated: false, isAnswerTruncated: true })
  for (const { request, answer } of stored) {
    expect(Buffer.byteLength(request)).toBeLessThanOrEqual(PROMPT_LOG_BYTES)
    expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(PROMPT_LOG_BYTES)
  }
})

test('a log that cannot be stored is counted, and its call has its answer', async () => {
  const { logs, stored, passed, begin, outcomes } = setUp({
    put: () => Promise.reject(new Error('PostgreSQL is away')),
  })
  begin().sink.frame(FINISH)
  await logs.close()
  expect(passed).toEqual([FINISH])
  expect(stored).toEqual([])
  expect(await outcomes()).toEqual({ lost: 1 })
})

test('holds no more text than it may: what is beyond is lost, and room comes back', async () => {
  const { logs, stored, passed, begin, outcomes } = setUp({ heldCharsMax: 1_000 })
  const large = begin()
  large.sink.frame(['text', 'a'.repeat(900)])
  const other = begin()
  other.sink.frame(['text', 'b'.repeat(500)])
  other.sink.frame(FINISH)
  large.sink.frame(FINISH)
  await logs.close()
  expect(passed).toHaveLength(4)
  expect(stored.map(({ answer }) => JSON.parse(answer).content)).toEqual(['a'.repeat(900)])
  const later = begin()
  later.sink.frame(['text', 'c'.repeat(900)])
  later.sink.frame(FINISH)
  await logs.close()
  expect(await outcomes()).toEqual({ lost: 1, stored: 2 })
})
