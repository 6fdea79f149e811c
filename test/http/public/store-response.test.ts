import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { ResponseEnvelope } from '../../../src/core/calls/call-job.ts'
import type { FrameBody } from '../../../src/core/calls/frames.ts'
import { newCallId } from '../../../src/core/kernel/ids.ts'
import { type StoredCall, storeBeforeEnd } from '../../../src/http/public/store-response.ts'

const ENVELOPE: ResponseEnvelope = {
  id: newCallId(),
  accountId: 'acct_1',
  requestedModel: 'test/model',
  candidates: [],
  idempotencyRecord: null,
  admittedAt: 0,
  queueDeadlineAt: 0,
  callDeadlineAt: 0,
}

test('the end of a stored response is written, and counts as written, only once it is stored', async () => {
  const put = Promise.withResolvers<boolean>()
  const frames: FrameBody[] = []
  const writer = {
    body: Promise.resolve(null),
    frame: (body: FrameBody) => void frames.push(body),
    flush: () => undefined,
    tick: () => undefined,
  }
  const call = {
    ...{ accountId: 'acct_1', keyId: 'key_1', previousId: null, input: Promise.resolve('[]') },
    format: { responseOf: () => ({}) },
    store: { put: () => put.promise },
    logger: pino({ level: 'silent' }),
  } as unknown as StoredCall
  const stored = storeBeforeEnd(writer, ENVELOPE, call, () => false)
  expect(stored.frame(['text', 'Hello'])).toBeUndefined()
  const finish = ['finish', { reason: 'stop' }] as unknown as FrameBody
  let isWritten = false
  const writing = Promise.resolve(stored.frame(finish)).then(() => {
    isWritten = true
  })
  await new Promise(setImmediate)
  expect([isWritten, frames.length]).toEqual([false, 1])
  put.resolve(true)
  await writing
  expect(frames).toEqual([['text', 'Hello'], finish])
})
