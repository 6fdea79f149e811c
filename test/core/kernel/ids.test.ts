import { expect, test } from 'vitest'
import {
  callCreatedAt,
  callIdOfResponse,
  callIdRange,
  newCallId,
  responseIdOf,
} from '../../../src/core/kernel/ids.ts'

const NOW = Date.UTC(2030, 0, 1)
const HOUR_MS = 3_600_000

test('ids of calls sort by their creation, also within a millisecond and when the clock is set back a little', () => {
  const ids = [NOW, NOW, NOW + 1, NOW - 60_000, NOW + 2].map((nowMs) => newCallId(nowMs))
  expect(ids.toSorted()).toEqual(ids)
})

test('after a clock that was far ahead is corrected, calls are found by their time', () => {
  newCallId(Number.NaN)
  newCallId(NOW + 30 * 24 * HOUR_MS)
  const id = newCallId(NOW)
  const { from, to } = callIdRange({ fromMs: NOW - HOUR_MS, toMs: NOW })
  expect(id > from && id < to).toBe(true)
  expect(callCreatedAt(id)).toBe(NOW)
})

test('a call and its response have ids of the same ULID, and either leads to the call', () => {
  const callId = newCallId(NOW)
  const responseId = responseIdOf(callId)
  expect(responseId).toBe(callId.replace('chatcmpl_', 'resp_'))
  expect([responseId, callId].map(callIdOfResponse)).toEqual([callId, callId])
  for (const other of ['resp_1', 'a request', '']) expect(callIdOfResponse(other)).toBe(other)
})
