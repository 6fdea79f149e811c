import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import { checkRedisSettings, createRedis } from '../../src/platform/redis/redis.ts'
import { ask, streamed } from '../helpers/chat-client.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { startTlsServers, TEST_CERTIFICATE } from '../helpers/redis-group.ts'
import { filled, testAccount, testStack } from '../helpers/resources.ts'

// As NODE_EXTRA_CA_CERTS does for a process that starts.
const known = getCACertificates()
beforeAll(() => setDefaultCACertificates([...known, TEST_CERTIFICATE]))
afterAll(() => setDefaultCACertificates(known))

const servers = filled(startTlsServers, ({ close }) => close())
const stack = testStack(() => ({ redisUrl: servers.server }))
const caller = testAccount(stack, '1.00')

test('calls are served and charged over TLS, as an ACL user with the documented rules', async () => {
  const whole = await ask(caller, { model: 'test/one' })
  expect(whole).toMatchObject({ status: 200, errorCode: null })
  expect(await streamed(caller, { model: 'test/one' })).toMatchObject({ status: 200, text: whole.text })
  await stack.settled(caller.accountId)
  await expectLedgerInOrder(stack)
})

test.each(['server', 'sentinel', 'cluster'] as const)('holds are kept over TLS by a %s', async (kind) => {
  const redis = createRedis({ url: servers[kind], name: 'test', mode: 'wait' })
  try {
    await checkRedisSettings(redis, pino({ level: 'silent' }))
    const holds = createHoldStore(redis)
    await holds.load('acct_tls', { balancePico: 100n, version: 1n })
    expect(await holds.balance('acct_tls')).toMatchObject({ availPico: 100n })
  } finally {
    redis.disconnect()
  }
})

test('nothing is sent without TLS', async () => {
  const redis = createRedis({ url: servers.plain, name: 'test', mode: 'fail-fast' })
  try {
    await expect(redis.ping()).rejects.toThrow()
  } finally {
    redis.disconnect()
  }
})
