import { describe, expect, test } from 'vitest'
import { outcomeOfLostRun } from '../../../src/calls/worker/delivered-outcome.ts'
import { settlementOf } from '../../../src/core/billing/settlement.ts'
import type { CallContent, ResultContent } from '../../../src/core/calls/kinds/call-kinds.ts'
import type { NativeBlock, NativeEvent } from '../../../src/core/calls/messages-wire.ts'
import { chatOf } from '../../helpers/call-shapes.ts'
import { rates, snapshot } from '../../helpers/planned-catalog.ts'
import { type Play, type Played, playCall, type Said } from '../../helpers/played-chain.ts'

const LEAVES = { leaves: true } as const
const WAYS = [
  ['streamed', true],
  ['given whole', false],
] as const

const answeredBy = (plays: Play[][], stream: boolean): Promise<Played> =>
  playCall({
    stream,
    routes: plays.map((own, index) => ({ plays: own, candidate: { modelId: `m${index}` } })),
  })

describe.each(WAYS)('a client that hangs up on an answer that is %s', (_name, stream) => {
  test('pays the counted prompt once its provider has answered with a status', async () => {
    const { outcome, envelope } = await answeredBy([[{ says: [LEAVES] }]], stream)
    expect(outcome).toMatchObject({
      status: 'cancelled',
      served: envelope.candidates[0],
      usage: { promptTokens: expect.any(Number), completionTokens: 0 },
      usageSource: 'counted',
    })
    const { promptTokens } = (outcome as { usage: { promptTokens: number } }).usage
    expect(promptTokens).toBeGreaterThan(0)
    expect(promptTokens).toBeLessThanOrEqual(envelope.candidates[0]!.promptTokensBound)
    expect(outcome.attempts[0]?.spent).toBeUndefined()
  })

  test('pays what was produced as well, thoughts included', async () => {
    const { outcome } = await answeredBy([[{ says: ['a few words', { thinks: 160 }, LEAVES] }]], stream)
    expect(outcome).toMatchObject({ status: 'cancelled', usage: { completionTokens: expect.any(Number) } })
    expect((outcome as { usage: { completionTokens: number } }).usage.completionTokens).toBeGreaterThan(40)
  })

  test.each([
    ['before its provider has answered with a status', [[{ says: [LEAVES], httpStatus: null }]]],
    ['while the provider refuses it', [[{ says: [LEAVES], httpStatus: 503 }]]],
    [
      'while another provider is asked than the one that failed after its status',
      [[{ end: 'silent' as const }], [{ says: [LEAVES], httpStatus: null }]],
    ],
  ])('pays nothing %s', async (_when, plays) => {
    const { outcome } = await answeredBy(plays, stream)
    expect(outcome).toMatchObject({ status: 'cancelled', served: null, usage: { promptTokens: 0 } })
  })
})

test.each([{ by: 'client' }, { by: 'gateway', code: 'internal_error', deliveredChars: 0 }] as const)(
  'the record of a takeover without an answer from the API instance says so: ended by the $by',
  async (ending) => {
    const { envelope } = await answeredBy([[{ says: ['a word'] }]], true)
    const delivered = { text: '', candidate: null, finished: false, ending }
    const call = { envelope, content: chatOf() }
    const recordOf = async (isUnanswered?: true) => {
      const outcome = await outcomeOfLostRun({ ...delivered, ...(isUnanswered && { isUnanswered }) }, call)
      const catalog = snapshot([])
      return settlementOf(outcome, envelope, catalog, { claimedAt: 1, finishedAt: 2 })
    }
    expect((await recordOf(true)).isUnanswered).toBe(true)
    expect((await recordOf()).isUnanswered).toBeUndefined()
  },
)

describe('a client that leaves a task', () => {
  const speech: ResultContent = { kind: 'speech', input: 'Hello', voice: 'alloy', format: 'wav' }
  const embeddings: ResultContent = { kind: 'embeddings', input: ['a text'], encoding: 'float' }
  const leave = (content: ResultContent, play: Play, offers = 1) =>
    playCall({
      stream: false,
      content,
      routes: Array.from({ length: offers }, () => ({
        plays: [play],
        candidate: {
          completionLimit: 0,
          ...(content.kind === 'speech' && { units: { kind: 'character', bound: 5 } }),
        },
      })),
    })

  test.each([200, null])(
    'that makes media is charged for it, whatever its status was: %s',
    async (httpStatus) => {
      const { outcome } = await leave(speech, { says: [LEAVES, '["file"]'], httpStatus })
      expect(outcome).toMatchObject({ status: 'completed', usage: { units: 5 } })
    },
  )

  test('that makes media is not tried again once its provider fails, and is charged nothing', async () => {
    const { outcome, attempts } = await leave(speech, { says: [LEAVES], end: 'server-error' }, 2)
    expect(attempts).toEqual(['m server-error'])
    expect(outcome).toMatchObject({ status: 'cancelled', served: null, usage: { promptTokens: 0 } })
  })

  test('that makes no media is charged its counted prompt from the status on', async () => {
    const begun = await leave(embeddings, { says: [LEAVES] })
    expect(begun.outcome).toMatchObject({ status: 'cancelled', usageSource: 'counted' })
    expect((begun.outcome as { usage: { promptTokens: number } }).usage.promptTokens).toBeGreaterThan(0)
    const { outcome } = await leave(embeddings, { says: [LEAVES], httpStatus: null })
    expect(outcome).toMatchObject({ status: 'cancelled', served: null })
  })
})

describe('an answer given whole that reaches its deadline', () => {
  const atDeadline = (says: Play['says'], content?: CallContent) =>
    playCall({
      stream: false,
      ...(content && { content }),
      routes: [{ plays: [{ says: says ?? [], end: 'call-timeout' }] }],
    })

  test('ends as one that reached its limit, with what there is, and what was produced is charged', async () => {
    const { outcome, envelope } = await atDeadline(['a few ', 'words'])
    expect(outcome).toMatchObject({
      status: 'completed',
      finishReason: 'length',
      message: { content: 'a few words' },
      served: envelope.candidates[0],
      usage: { promptTokens: expect.any(Number), completionTokens: 3 },
      attempts: [{ outcome: 'call-timeout' }],
    })
    expect(outcome.attempts[0]?.spent).toBeUndefined()
  })

  test('ends so with nothing but thoughts as well', async () => {
    const { outcome } = await atDeadline([{ thinks: 40 }])
    expect(outcome).toMatchObject({
      status: 'completed',
      finishReason: 'length',
      message: { content: '' },
      usage: { completionTokens: 10 },
    })
  })

  test('is a failure that costs nothing if nothing was produced', async () => {
    const { outcome } = await atDeadline([])
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'upstream_timeout' } })
    expect(outcome.attempts[0]?.spent?.promptTokens).toBeGreaterThan(0)
  })

  test('passes on no tool call that is half made, and charges it', async () => {
    const call = (index: number, text: string): Said => ({
      delta: ['tool-calls', [{ index, id: `call_${index}`, function: { name: 'pay', arguments: text } }]],
    })
    const half = await atDeadline([call(0, '{"amount": 1'), call(0, '0')])
    expect(half.outcome).toMatchObject({ finishReason: 'length', message: { content: '' } })
    expect(half.outcome).not.toHaveProperty('message.tool_calls')
    expect((half.outcome as { usage: { completionTokens: number } }).usage.completionTokens).toBeGreaterThan(
      4,
    )
    const { outcome } = await atDeadline([call(0, '{"amount": 1}'), call(1, '{"amo')])
    expect(outcome).toMatchObject({
      message: { content: null, tool_calls: [{ id: 'call_0', function: { arguments: '{"amount": 1}' } }] },
    })
  })

  test('says so in the words of a native answer, without half a tool use', async () => {
    const native = (event: NativeEvent): Said => ({ delta: ['native', event] })
    const opened = (index: number, content_block: NativeBlock): Said =>
      native({ type: 'content_block_start', index, content_block })
    const { outcome } = await atDeadline(
      [
        opened(0, { type: 'text', text: '' }),
        native({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'I pay.' } }),
        opened(1, { type: 'tool_use', id: 'toolu_1', name: 'pay', json: '' }),
        native({
          type: 'content_block_delta',
          index: 1,
          delta: { type: 'input_json_delta', partial_json: '{"amount": 1' },
        }),
      ],
      { kind: 'native', request: {}, messages: [], parameters: {} },
    )
    expect(outcome).toMatchObject({
      finishReason: 'length',
      nativeStop: { stop_reason: 'max_tokens', stop_sequence: null },
      message: { native: [{ type: 'text', text: 'I pay.' }] },
    })
  })
})

describe('what a provider bills and no client pays', () => {
  test.each([
    ['an attempt that its client left before a status', { says: [LEAVES], httpStatus: null }, true],
    ['an attempt that its client left after a refusal', { says: [LEAVES], httpStatus: 500 }, false],
    ['a provider that was silent', { end: 'silent' as const }, true],
    ['an answer with nothing in it', { says: [] }, true],
    ['a server error', { end: 'server-error' as const }, false],
    ['a connection that failed', { end: 'connect' as const, httpStatus: null }, false],
  ])('is noted without a first token: %s', async (_name, play, isNoted) => {
    const { outcome } = await playCall({
      routes: [{ plays: [play], offer: { cost: rates(3, 4) } }],
      attemptsPerCall: 1,
    })
    const [attempt] = outcome.attempts
    expect(attempt?.firstTokenMs).toBeNull()
    if (!isNoted) return expect(attempt?.spent).toBeUndefined()
    expect(attempt?.spent?.promptTokens).toBeGreaterThan(0)
    expect(attempt?.spent?.costPico).toBe(String(3 * attempt!.spent!.promptTokens))
  })
})
