import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { postAs } from '../helpers/requests.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { caller, completionOf } from '../http/wire.ts'

let stack: TestStack
beforeAll(async () => {
  vi.stubEnv('ROTATION_TEST_ALPHA_KEY', 'sk-ours')
  stack = await startStack({
    models: {
      'own/plain': [{ at: 'alpha', model: 'words-12.auth' }],
      'test/plain': [{ at: 'beta', model: 'words-12' }],
    },
    providerKeyNames: { alpha: 'ROTATION_TEST_ALPHA_KEY' },
    environment: { QUEUE_WAIT_MS: '170000' },
  })
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await stack?.close()
})

test('a changed master key loses no call in the queue, no API key and no provider key', async () => {
  const { key, accountId } = await stack.account('1.00', { scopes: ['provider_keys'] })
  const call = (body: Record<string, unknown> = {}) => caller(stack, { key })({ model: 'own/plain', ...body })
  // A process that has just begun may take longer to read a key than a call waits for it.
  const served = () => eventually(async () => completionOf(await call()))
  await served()
  const secret = `sk-${randomBytes(12).toString('hex')}`
  const stored = await postAs(key, `${stack.url}/v1/provider-keys`, { provider: 'alpha', key: secret })
  expect(stored.status).toBe(201)

  // A call waits in the queue, sealed under the old key, while its worker comes back with the new one.
  await stack.dispatch[0]!.stop()
  const waiting = call({ model: 'test/plain' })
  await expect.poll(() => stack.redis.llen(`${queuePrefix(0)}:dispatch:wait`)).toBe(1)
  const old = stack.environment.MASTER_KEY!
  stack.environment.MASTER_KEY = randomBytes(32).toString('base64')
  stack.environment.MASTER_KEY_PREVIOUS = old
  let worker = await stack.startDispatch()
  await completionOf(await waiting)

  await stack.apis[0]!.stop()
  await stack.restartApi(0)
  await served()
  const { code, json } = await stack.command('admin', 'rotate-sealed')
  expect(code).toBe(0)
  expect(json).toMatchObject({ provider_keys_resealed: 1, not_opened: 0, api_keys_under_previous: 0 })

  // From here on nobody knows the old key.
  stack.environment.MASTER_KEY_PREVIOUS = ''
  await stack.apis[0]!.stop()
  await stack.restartApi(0)
  await worker.stop()
  worker = await stack.startDispatch()
  stack.providers.log.clear()
  await served()
  expect(stack.providers.log.requests.map(({ headers }) => headers.authorization)).toEqual([
    `Bearer ${secret}`,
  ])
  await stack.settled(accountId)
  await expectLedgerInOrder(stack)
})
