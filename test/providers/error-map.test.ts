import { describe, expect, test } from 'vitest'
import { failureOfErrorObject, failureOfStatus } from '../../src/providers/chat-completions.ts'

const body = (error: unknown) => JSON.stringify({ error })

describe('failureOfStatus', () => {
  test.each([
    [429, 'rate-limited'],
    [408, 'server-error'],
    [500, 'server-error'],
    [503, 'server-error'],
    [529, 'server-error'],
    [400, 'bad-request'],
    [422, 'bad-request'],
    [401, 'refused'],
    [402, 'refused'],
    [403, 'refused'],
    [404, 'refused'],
    [301, 'refused'],
    [413, 'context-length'],
  ])('status %d without words is %s', (status, kind) => {
    expect(failureOfStatus(status, '', null).kind).toBe(kind)
    expect(failureOfStatus(status, '<html>', null).kind).toBe(kind)
  })

  test.each([
    [{ code: 'context_length_exceeded', message: '' }],
    [
      {
        code: null,
        message: "This model's maximum context length is 8192 tokens, however you requested 9000",
      },
    ],
    [{ message: 'prompt is too long: 210000 tokens > 200000 maximum' }],
    ['Input is too long for requested model. Please reduce the length of the messages.'],
  ])('context length is told by %j', (error) => {
    expect(failureOfStatus(400, body(error), null).kind).toBe('context-length')
  })

  test.each([
    [{ code: 'content_policy_violation', message: '' }, null],
    [
      { code: 'content_filter', message: 'filtered', innererror: { code: 'ResponsibleAIPolicyViolation' } },
      null,
    ],
    [
      { message: 'Your request was flagged as violating our usage policies: violence, self-harm' },
      'self-harm, violence',
    ],
  ])('content policy is told by %j', (error, hint) => {
    expect(failureOfStatus(400, body(error), null)).toMatchObject({ kind: 'content-policy', hint })
  })

  test('only fields that we forward are named, and no upstream text', () => {
    const failure = failureOfStatus(
      400,
      body({ message: 'acme says no', param: 'messages.[0].content' }),
      null,
    )
    expect(failure).toMatchObject({ kind: 'bad-request', hint: 'messages' })
    expect(failureOfStatus(400, body({ message: 'x', param: 'acme_option' }), null).hint).toBeNull()
    expect(JSON.stringify(failure)).not.toContain('acme')
  })

  test('Retry-After belongs to 429', () => {
    expect(failureOfStatus(429, '', 2_000).retryAfterMs).toBe(2_000)
    expect(failureOfStatus(503, '', 2_000).retryAfterMs).toBeNull()
  })
})

describe('failureOfErrorObject', () => {
  test.each([
    [{ code: 429, message: 'slow down' }, 'rate-limited'],
    [{ code: '503', message: 'busy' }, 'server-error'],
    [{ status: 401 }, 'refused'],
    [{ code: 'rate_limit_exceeded' }, 'rate-limited'],
    [{ code: 'context_length_exceeded' }, 'context-length'],
    [{ code: 400, message: 'bad' }, 'bad-request'],
    [{ message: 'internal' }, 'server-error'],
    ['boom', 'server-error'],
    [null, 'server-error'],
    [[{ error: { code: 429 } }], 'rate-limited'],
    [{ error: { error: { code: 'context_length_exceeded' } } }, 'context-length'],
    [{ error: 'Bad Request', message: 'prompt is too long' }, 'context-length'],
  ])('%j in a 200 is %s', (error, kind) => {
    expect(failureOfErrorObject(error, 200).kind).toBe(kind)
  })
})
