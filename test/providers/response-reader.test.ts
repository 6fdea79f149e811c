import { describe, expect, test } from 'vitest'
import { ApiError } from '../../src/core/kernel/errors.ts'
import { chatCompletions, openReader } from '../../src/providers/chat-completions.ts'
import type { TransportFailureKind } from '../../src/providers/http/exchange.ts'
import type { ResponseFiles } from '../../src/providers/response-files.ts'
import { ResponseReader } from '../../src/providers/response-reader.ts'
import { type AttemptResult, takenApart } from '../helpers/attempt-result.ts'
import { textEvent } from '../helpers/scripted-provider.ts'
import { stubOf } from '../helpers/stub-of.ts'

/** How an attempt ends whose provider says something, is silent for so long, and closes. */
function closedAfter(silentMs: number, body: string, how: TransportFailureKind | 'end'): AttemptResult {
  let result: AttemptResult | undefined
  const nothing = () => undefined
  const exchange = { token: nothing, cutShort: nothing, endAfter: nothing, drain: nothing, abort: nothing }
  const reader = new ResponseReader({
    exchange: { ...exchange, silentMs },
    wire: chatCompletions,
    answer: openReader(),
    onProgress: () => undefined,
    now: () => 0,
    resolve: (outcome) => {
      result = takenApart(outcome).result
    },
    reject: (error) => {
      throw error
    },
  })
  reader.head(200, {})
  reader.data(Buffer.from(body))
  if (how === 'end') reader.end()
  else reader.failure({ kind: how, internal: '', isLate: false })
  return result!
}

describe('a stream that its provider closes before its end', () => {
  test.each([
    ['end', 10_001, 'stalled'],
    ['reset', 10_001, 'stalled'],
    ['end', 10_000, 'broken-stream'],
    ['reset', 500, 'broken-stream'],
    ['idle', 30_000, 'stalled'],
  ] as const)('(%s) after %i ms of silence between tokens is %s', (how, silentMs, kind) => {
    expect(closedAfter(silentMs, textEvent('Hello'), how)).toMatchObject({ failure: { kind } })
  })

  test('by a reset before the first token was reset, however long that took', () => {
    expect(closedAfter(0, ': wait\n\n', 'reset')).toMatchObject({ failure: { kind: 'reset' } })
  })
})

/** How an attempt ends whose files the store refuses. */
async function refusedByStore(error: ApiError): Promise<AttemptResult> {
  const { promise, resolve, reject } = Promise.withResolvers<AttemptResult>()
  const nothing = () => undefined
  const exchange = { token: nothing, cutShort: nothing, endAfter: nothing, drain: nothing, abort: nothing }
  const reader = new ResponseReader({
    exchange: { ...exchange, silentMs: 0 },
    wire: chatCompletions,
    answer: openReader(),
    files: stubOf<ResponseFiles>({
      push: () => true,
      end: () => Promise.reject(error),
      discard: nothing,
    }),
    onProgress: nothing,
    now: () => 0,
    resolve: (outcome) => resolve(takenApart(outcome).result),
    reject,
  })
  reader.head(200, {})
  reader.data(Buffer.from('an image'))
  reader.end()
  return promise
}

test.each([
  ['concurrency_limit_exceeded', 'account-full'],
  ['overloaded', 'not-stored'],
] as const)('an answer whose files the store refuses with %s is %s', async (code, kind) => {
  expect(await refusedByStore(new ApiError(code, 'No room.'))).toMatchObject({ failure: { kind } })
})
