import Fastify from 'fastify'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { plainKey } from '../../src/accounts/key-cache.ts'
import { authenticate } from '../../src/http/plugins/authenticate.ts'
import { sendErrors } from '../../src/http/plugins/send-errors.ts'

const KEY = { ...plainKey('acct_1', 'key_1'), requestsPerMinute: 60 }

test('rate-limit headers have the latest values of the balance cache until these reset', async () => {
  let nowMs = 1_000_000
  const app = Fastify()
  await app.register(sendErrors, { logger: pino({ level: 'silent' }) })
  await app.register(authenticate, {
    keys: {
      lookup: () => ({ kind: 'active', key: KEY }),
    },
    limits: {
      requestsPerMinute: 600,
      refusedRequestsPerMinute: 1_000,
      refusedBytesPerMinute: 1_000_000,
      tokensPerMinute: 9_000,
      concurrentCalls: 100,
      accountRequestsPerMinute: 1_200,
      accountConcurrentCalls: 200,
    },
    clock: () => nowMs,
  })
  app.get('/call', { onRequest: [app.requireKey] }, async (request) => {
    request.noteRate({ limitRequests: 40, remainingRequests: 3, remainingTokens: 70, resetMs: 90_000 })
    return {}
  })
  app.get('/other', { onRequest: [app.requireKey] }, async () => ({}))
  const figures = async (url: string) => {
    const { headers } = await app.inject({ url, headers: { authorization: 'Bearer any' } })
    return ['limit', 'remaining', 'reset'].map((name) =>
      ['requests', 'tokens'].map((unit) => headers[`x-ratelimit-${name}-${unit}`]),
    )
  }
  const limits = ['60', '9000']
  expect(await figures('/other')).toEqual([limits, limits, ['0', '0']])
  // What the balance cache named is the account's limit, since it left fewer.
  const tighter = ['40', '9000']
  expect(await figures('/call')).toEqual([tighter, ['3', '70'], ['90', '90']])
  nowMs += 89_500
  expect(await figures('/other')).toEqual([tighter, ['3', '70'], ['1', '1']])
  nowMs += 500
  expect(await figures('/other')).toEqual([limits, limits, ['0', '0']])
  await app.close()
})
