import { pino } from 'pino'
import { expect, test } from 'vitest'
import { EndAcknowledgements } from '../../../src/calls/api/end-acknowledgements.ts'
import { fakeRedis } from '../../helpers/stub-of.ts'

test('delivered ends are acknowledged as often as the instance says', () => {
  const acknowledged: string[] = []
  const hdel = async (_key: string, ...ids: string[]) => acknowledged.push(...ids)
  const options = { redis: fakeRedis({ hdel }), channel: 'api', logger: pino({ level: 'silent' }) }
  const acknowledgements = new EndAcknowledgements({ ...options, everyMs: 200 })
  for (let nowMs = 0; nowMs < 1_000; nowMs += 100) {
    acknowledgements.add(String(nowMs))
    acknowledgements.tick(nowMs)
  }
  // What the last tick saw is not sent yet.
  expect(acknowledged).toHaveLength(9)
})

test('delivered ends are acknowledged about once a second, also after the clock was put back', () => {
  const acknowledged: string[] = []
  const hdel = async (_key: string, ...ids: string[]) => acknowledged.push(...ids)
  const acknowledgements = new EndAcknowledgements({
    redis: fakeRedis({ hdel }),
    channel: 'api',
    logger: pino({ level: 'silent' }),
  })
  const deliver = (callId: string, nowMs: number) => {
    acknowledgements.add(callId)
    // They are taken for written by the tick after the one that sees them.
    for (const at of [nowMs, nowMs + 100]) acknowledgements.tick(at)
  }
  deliver('first', 3_600_000)
  expect(acknowledged).toEqual(['first'])
  deliver('second', 3_600_200)
  expect(acknowledged).toEqual(['first'])
  deliver('third', 0)
  expect(acknowledged).toEqual(['first', 'second'])
  deliver('fourth', 1_000)
  expect(acknowledged).toEqual(['first', 'second', 'third'])
})
