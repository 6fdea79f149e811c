import { expect, test } from 'vitest'
import type { CreatedKey, KeyView } from '../../src/core/api/keys.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { formatUsd, parseUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { ask } from '../helpers/chat-client.ts'
import { signedUp } from '../helpers/console-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { testStack } from '../helpers/resources.ts'

const stack = testStack({
  models: { 'test/plain': [{ at: 'alpha', model: 'words-20' }] },
  apis: 2,
})

async function holderOfKey(settings: Record<string, unknown>) {
  const client = await signedUp(stack.url)
  const { account } = await client.json<SessionView>('/console/api/session')
  const { key, secret } = await client.json<CreatedKey>('/console/api/keys', {
    body: { name: 'app', ...settings },
  })
  const send = (path: string, body: unknown = {}, method = 'POST') =>
    client.json<KeyView>(`/console/api/keys/${key.id}${path}`, { method, body })
  return {
    settled: () => stack.settled(account.id),
    pause: () => send('/pause'),
    resume: () => send('/resume'),
    edit: (body: unknown) => send('', body, 'PATCH'),
    /** The outcomes of a call at each instance. */
    async everywhere() {
      const callers = stack.urls.map((url) => ({ url, key: secret }))
      const answers = await Promise.all(
        callers.map((caller) => ask(caller, { model: 'test/plain', max_tokens: 20 })),
      )
      return answers.map(({ status, errorCode }) => errorCode ?? status)
    },
  }
}

test('a limit below what was spent and a pause refuse a key at every instance without waiting for the reload, a limit above it and a resumption serve it', async () => {
  const key = await holderOfKey({ limit_usd: '0.10' })
  expect(await key.everywhere()).toEqual([200, 200])
  await key.settled()
  const lowered = await key.edit({ limit_usd: '0.000001' })
  expect(lowered).toMatchObject({ limit_usd: '0.000001', remaining_usd: '0.00' })
  expect(await key.everywhere()).toEqual(['key_limit_exceeded', 'key_limit_exceeded'])
  const raised = await key.edit({ limit_usd: '0.10' })
  expect(raised.remaining_usd).toBe(formatUsd(picoUsd(parseUsd('0.10') - parseUsd(raised.spent_usd))))
  expect(await key.everywhere()).toEqual([200, 200])
  await expectLedgerInOrder(stack)
  await key.pause()
  await eventually(async () => expect(await key.everywhere()).toEqual(['key_revoked', 'key_revoked']))
  await key.resume()
  await eventually(async () => expect(await key.everywhere()).toEqual([200, 200]))
})
