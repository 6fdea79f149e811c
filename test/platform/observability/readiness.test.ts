import { expect, test } from 'vitest'
import { createReadiness } from '../../../src/platform/observability/readiness.ts'

const answers = async () => 'OK' as const
const hangs = () => new Promise<never>(() => undefined)
const fails = (message: string) => async () => {
  throw new Error(message)
}

const readiness = (set: () => Promise<'OK'>, askPostgres: () => Promise<unknown>) =>
  createReadiness({ apiId: 'api_1', redis: { set } as never, askPostgres, withinMs: 20 })

test('an instance is ready while both services answer', async () => {
  expect(await readiness(answers, answers)()).toEqual({ status: 'ready' })
})

test.each([
  ['hangs', hangs],
  ['fails', fails('connect ECONNREFUSED')],
])('an instance whose PostgreSQL %s is degraded, and says so', async (_, askPostgres) => {
  expect(await readiness(answers, askPostgres)()).toEqual({ status: 'degraded', away: ['postgresql'] })
})

test.each([
  ['hangs', hangs, 'redis-away'],
  ['is away', fails('redis is not connected'), 'redis-away'],
  [
    'is out of memory',
    fails("OOM command not allowed when used memory > 'maxmemory'."),
    'redis-refuses-writes',
  ],
  ['is a replica', fails("READONLY You can't write against a read only replica."), 'redis-refuses-writes'],
  ['cannot write its file', fails('MISCONF Errors writing to the AOF file'), 'redis-refuses-writes'],
])('an instance whose Redis %s is not ready', async (_, set, reason) => {
  expect(await readiness(set, hangs)()).toEqual({ status: 'not-ready', reason })
})

test('a service that hangs is asked once, however often the instance is', async () => {
  let asked = 0
  const ask = readiness(answers, () => {
    asked += 1
    return hangs()
  })
  await Promise.all(Array.from({ length: 100 }, ask))
  await ask()
  expect(asked).toBe(1)
})
