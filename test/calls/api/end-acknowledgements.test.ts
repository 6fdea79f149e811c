import { pino } from 'pino'
import { expect, test } from 'vitest'
import { EndAcknowledgements } from '../../../src/calls/api/end-acknowledgements.ts'

test('delivered ends are acknowledged about once a second, also after the clock was put back', () => {
  const acknowledged: string[] = []
  const hdel = async (_key: string, ...ids: string[]) => acknowledged.push(...ids)
  const acknowledgements = new EndAcknowledgements({
    redis: { hdel } as never,
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
