import { EventEmitter } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import type { StandardKey } from '../../../src/accounts/key-cache.ts'
import type { FrameBody, FrameError } from '../../../src/core/calls/frames.ts'
import type { GuardedText, Guardrail } from '../../../src/core/guardrails/guardrail.ts'
import { type AskGuardrailsOptions, GUARDED_CHARS_MAX } from '../../../src/guardrails/ask-guardrails.ts'
import { createCallGuards, type GuardedAnswer, guardAnswer } from '../../../src/http/calls/guard-calls.ts'
import type { Logger } from '../../../src/platform/observability/logger.ts'
import type { Sealer } from '../../../src/platform/sealing.ts'
import { stubOf } from '../../helpers/stub-of.ts'

const DENIED: FrameError = { code: 'guardrail_denied', message: 'no' }
const FINISH: FrameBody = ['finish', 'stop', null]

/** A guarded sink, and what came through it. */
function guarded(options: Partial<GuardedAnswer> = {}) {
  const out: FrameBody[] = []
  const shown: string[][] = []
  const { judge = async () => null, ...others } = options
  const sink = guardAnswer(
    { frame: (body) => void out.push(body), flush: () => undefined, tick: () => undefined },
    {
      kind: 'chat',
      signal: new AbortController().signal,
      isHeld: true,
      tooLong: null,
      logger: { error: (problem: unknown) => expect(problem).toBeNull() },
      judge(texts) {
        shown.push(texts.map(({ text }) => text))
        return judge(texts)
      },
      ...others,
    },
  )
  return { sink, out, shown }
}

const replacing =
  (change: (text: string) => string) =>
  async (texts: readonly GuardedText[]): Promise<null> => {
    for (const { text, replace } of texts) if (change(text) !== text) replace!(change(text))
    return null
  }
const hideAnn = replacing((text) => text.replaceAll('Ann', '<PERSON>'))

describe('a stream that may be replaced', () => {
  test('is held back, then comes as it was', async () => {
    const { sink, out, shown } = guarded()
    const frames: FrameBody[] = [
      ['open', 0],
      ['reasoning', 'hm'],
      ['text', 'he'],
      ['text', 'llo'],
    ]
    for (const frame of frames) void sink.frame(frame)
    expect(out).toEqual([])
    await sink.frame(FINISH)
    expect(shown).toEqual([['hm', 'hello']])
    expect(out).toEqual([...frames, FINISH])
  })

  test('comes with one piece for each replaced text, and without what was said of it', async () => {
    const { sink, out } = guarded({ judge: hideAnn })
    const call = (args: string, index = 1) =>
      ['tool-calls', [{ index, function: { arguments: args } }]] as const satisfies FrameBody
    const frames: FrameBody[] = [
      ['open', 0],
      ['text', 'A'],
      ['logprobs', [{ token: 'A', logprob: 0, bytes: null, top_logprobs: [] }]],
      ['text', 'nn is here'],
      ['tool-calls', [{ index: 1, id: 'c1', type: 'function', function: { name: 'find', arguments: '' } }]],
      call('{"name":"A'),
      call('nn"}'),
      call('{}', 2),
    ]
    for (const frame of frames) void sink.frame(frame)
    await sink.frame(FINISH)
    expect(JSON.stringify(out)).not.toContain('Ann')
    expect(out).toEqual([
      ['open', 0],
      ['text', '<PERSON> is here'],
      [
        'tool-calls',
        [
          {
            index: 1,
            id: 'c1',
            type: 'function',
            function: { name: 'find', arguments: '{"name":"<PERSON>"}' },
          },
        ],
      ],
      call(''),
      call(''),
      call('{}', 2),
      FINISH,
    ])
  })

  test('of native blocks is replaced block by block', async () => {
    const { sink, out, shown } = guarded({ judge: hideAnn })
    const native = (event: object) => ['native', event] as FrameBody
    const start = (index: number, content_block: object) =>
      native({ type: 'content_block_start', index, content_block })
    const delta = (index: number, given: object) =>
      native({ type: 'content_block_delta', index, delta: given })
    const kept = [
      start(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'hm' }),
      delta(0, { type: 'signature_delta', signature: 'c2ln' }),
      start(1, { type: 'text', text: '' }),
    ]
    for (const frame of kept) void sink.frame(frame)
    void sink.frame(delta(1, { type: 'text_delta', text: 'An' }))
    void sink.frame(delta(1, { type: 'citations_delta', citation: { cited_text: 'Ann' } }))
    void sink.frame(delta(1, { type: 'text_delta', text: 'n' }))
    await sink.frame(FINISH)
    expect(shown).toEqual([['hm', 'Ann']])
    expect(out).toEqual([...kept, delta(1, { type: 'text_delta', text: '<PERSON>' }), FINISH])
  })

  test('that is denied is never seen', async () => {
    const { sink, out } = guarded({ judge: async () => DENIED })
    void sink.frame(['open', 0])
    void sink.frame(['text', 'hello'])
    await sink.frame(FINISH)
    expect(out).toEqual([['error', DENIED]])
  })

  test('that breaks off is judged too, before its error', async () => {
    const { sink, out } = guarded({ judge: hideAnn })
    const broken: FrameBody = ['error', { code: 'all_providers_failed', message: 'broke off' }]
    void sink.frame(['open', 0])
    void sink.frame(['text', 'Ann'])
    await sink.frame(broken)
    expect(out).toEqual([['open', 0], ['text', '<PERSON>'], broken])
  })

  test.each([
    ['passes where failures allow', null],
    ['ends with an error where they deny', DENIED],
  ])('that is too long to be judged %s', async (_how, tooLong) => {
    const { sink, out, shown } = guarded({ tooLong })
    const long = 'a'.repeat(GUARDED_CHARS_MAX / 2)
    for (let index = 0; index < 3; index++) void sink.frame(['text', long])
    await sink.frame(FINISH)
    expect(shown).toEqual([])
    expect(out.map(([kind]) => kind)).toEqual(tooLong ? ['error'] : ['text', 'text', 'text', 'finish'])
  })

  test('is dropped once its client is gone', async () => {
    const client = new AbortController()
    const { sink, out } = guarded({
      signal: client.signal,
      async judge() {
        client.abort()
        return DENIED
      },
    })
    void sink.frame(['text', 'hello'])
    await sink.frame(FINISH)
    expect(out).toEqual([])
  })
})

test('another stream passes at once, and its end waits for the judgement', async () => {
  const { sink, out } = guarded({ isHeld: false, judge: async () => DENIED })
  void sink.frame(['open', 0])
  void sink.frame(['text', 'hello'])
  expect(out).toHaveLength(2)
  await sink.frame(FINISH)
  expect(out).toEqual([
    ['open', 0],
    ['text', 'hello'],
    ['error', DENIED],
  ])
})

test('a whole answer is replaced, and what tools of the provider found cannot be', async () => {
  const hosted = [{ item: { type: 'web_search_call', query: 'x' }, at: 3 }]
  const { sink, out, shown } = guarded({
    judge: async (texts) => {
      expect(texts.map(({ replace }) => replace !== undefined)).toEqual([true, true, false])
      return hideAnn(texts)
    },
  })
  const calls = [
    { id: 'c1', type: 'function' as const, function: { name: 'find', arguments: '{"n":"Ann"}' } },
  ]
  const message = { content: 'Ann', tool_calls: calls, hosted, logprobs: [] }
  await sink.frame(['completion', 0, message, 'stop', null])
  expect(shown).toEqual([['Ann', '{"n":"Ann"}', JSON.stringify(hosted)]])
  expect(out).toEqual([
    [
      'completion',
      0,
      {
        content: '<PERSON>',
        tool_calls: [{ ...calls[0], function: { name: 'find', arguments: '{"n":"<PERSON>"}' } }],
        hosted: [{ item: hosted[0]!.item, at: 8 }],
      },
      'stop',
      null,
    ],
  ])
})

test('the text of a transcript is replaced with its words', async () => {
  const { sink, out } = guarded({ kind: 'transcription', judge: hideAnn })
  const transcript = {
    text: 'Ann spoke',
    duration: 2,
    language: 'en',
    segments: [{ text: 'Ann' }],
    words: [{}],
  }
  const result = JSON.stringify([transcript])
  await sink.frame(['completion', 0, { content: null, result }, 'stop', null])
  const replaced = { ...transcript, text: '<PERSON> spoke', segments: [], words: [] }
  expect(out).toEqual([
    ['completion', 0, { content: null, result: JSON.stringify([replaced]) }, 'stop', null],
  ])
})

describe('of an account alone', () => {
  /** Prompts that are asked about, until the test answers; or their client leaves. */
  function asking() {
    const answers: Array<() => void> = []
    const post: AskGuardrailsOptions['post'] = (_url, _body, { signal }) =>
      new Promise((resolve) => {
        const answer = { statusCode: 200, retryAfter: undefined, body: '{"action":"allow"}' }
        answers.push(() => resolve({ kind: 'answered', ...answer }))
        signal?.addEventListener('abort', () => resolve({ kind: 'unanswered', error: 'aborted' }))
      })
    const logger = stubOf<AskGuardrailsOptions['logger'] & Logger>({ warn: () => undefined })
    const clock = () => 0
    const guards = createCallGuards({
      ...{ post, logger, clock },
      sealer: stubOf<Sealer>({}),
      registry: new Registry(),
    })
    const ask = (accountId = 'acct_1', onFailure: Guardrail['onFailure'] = 'deny') => {
      const client = Object.assign(new EventEmitter(), { closed: false, destroyed: false })
      const guardrail = { id: 'guard_1', kind: 'http', secretSealed: null, points: ['prompt'], onFailure }
      const key = stubOf<StandardKey>({ accountId, guardrails: [guardrail as unknown as Guardrail] })
      const [request, reply] = [{ id: 'r' }, { raw: client }]
      const body = { messages: [{ role: 'user', content: 'hello' }] }
      const asked = guards
        .prompt(key, body, request as unknown as FastifyRequest, reply as unknown as FastifyReply)
        .then(
          () => 'allowed',
          ({ code }) => code,
        )
      return { asked, leave: () => client.emit('close') }
    }
    return { ask, answers }
  }
  const BOUND = 224

  test('so many prompts are judged at once; more count as failed, and those of others are asked about', async () => {
    const { ask, answers } = asking()
    const first = Array.from({ length: BOUND }, () => ask())
    expect(answers).toHaveLength(BOUND)
    expect(await ask().asked).toBe('guardrail_unavailable')
    expect(await ask('acct_1', 'allow').asked).toBe('allowed')
    expect(answers).toHaveLength(BOUND)
    const other = ask('acct_2')
    expect(answers).toHaveLength(BOUND + 1)
    for (const answer of answers) answer()
    expect(new Set(await Promise.all([...first, other].map(({ asked }) => asked)))).toEqual(
      new Set(['allowed']),
    )
    const later = ask()
    answers.at(-1)!()
    expect(await later.asked).toBe('allowed')
  })

  test('the place of a client that leaves is free again, and its prompt is not admitted', async () => {
    const { ask, answers } = asking()
    const all = Array.from({ length: BOUND }, () => ask('acct_1', 'allow'))
    all[0]!.leave()
    expect(await all[0]!.asked).toBe('guardrail_unavailable')
    const next = ask()
    expect(answers).toHaveLength(BOUND + 1)
    answers.at(-1)!()
    expect(await next.asked).toBe('allowed')
  })
})
