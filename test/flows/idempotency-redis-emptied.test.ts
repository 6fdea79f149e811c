import { expect, test } from 'vitest'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { caller, completionOf, expectError } from '../http/wire.ts'

const stack = testStack({
  apis: 2,
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/held': [{ at: 'alpha', model: 'words-12.held' }],
  },
})
const owner = testAccount(stack, '5.00')
const call = caller(stack, owner)

const captures = () =>
  stack.postgres.ledgerTransaction.findMany({
    where: { accountId: owner.accountId, kind: 'capture' },
    select: { id: true },
  })
const tenRepeats = (body: Record<string, unknown>, key: string) =>
  Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      call(body, { headers: { 'idempotency-key': key }, url: stack.urls[index % 2]! }),
    ),
  )

test('repeats of a call charged before Redis lost its data do not run again and get a 409', async () => {
  const before = (await captures()).length
  const first = await call({ model: 'test/plain' }, { headers: { 'idempotency-key': 'settled' } })
  const { id } = await completionOf(first)
  await stack.settled(owner.accountId)
  const received = stack.providers.log.received
  await stack.redis.flushall()
  for (const response of await tenRepeats({ model: 'test/plain' }, 'settled')) {
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect((await expectError(response, 409, 'idempotency_conflict')).message).toContain(id)
  }
  expect(stack.providers.log.received).toBe(received)
  expect(await captures()).toHaveLength(before + 1)
  // The key is free for nobody, the account for everybody.
  await completionOf(await call({ model: 'test/plain' }, { headers: { 'idempotency-key': 'another' } }))
  await expectLedgerInOrder(stack)
})

test('a call and its repeats are charged once in all, when Redis loses its data while it runs', async () => {
  const before = (await captures()).length
  const body = { model: 'test/held', messages: [{ role: 'user', content: 'Emptied in the middle.' }] }
  const received = stack.providers.log.received
  const original = call(body, { headers: { 'idempotency-key': 'running' } })
  await stack.providers.log.arrived(({ model, state }) => state === 'open' && model!.includes('held'))
  await stack.redis.flushall()
  const repeating = tenRepeats(body, 'running')
  // Redis did not know of the first any more: it runs twice, and one of the two is free.
  await expect.poll(() => stack.providers.log.received).toBe(received + 2)
  stack.providers.release()
  const repeats = await repeating
  const texts = await Promise.all(
    [await original, ...repeats].map(
      async (response) => (await completionOf(response)).choices[0]!.message.content,
    ),
  )
  expect(new Set(texts).size).toBe(1)
  expect(stack.providers.log.received).toBe(received + 2)
  await expectLedgerInOrder(stack)
  const charged = await captures()
  expect(charged).toHaveLength(before + 1)
  const duplicates = await stack.postgres.callRecord.findMany({
    where: { accountId: owner.accountId, duplicateOf: { not: null } },
  })
  expect(duplicates).toMatchObject([{ chargePico: 0n, status: 'completed' }])
  expect(charged.map(({ id }) => id)).toContain(duplicates[0]!.duplicateOf)
})
