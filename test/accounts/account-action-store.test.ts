import { expect, test } from 'vitest'
import { createAccountActionStore, pruneAccountActions } from '../../src/accounts/account-action-store.ts'
import { testStack } from '../helpers/resources.ts'

const stack = testStack({ models: { 'test/plain': [{ at: 'alpha', model: 'words-2' }] } })

async function opened() {
  const { accountId } = await stack.account('0.00')
  const store = createAccountActionStore(stack.postgres)
  const record = (target: string, details = {}) =>
    store.record({ accountId, personId: accountId, action: 'key.edited', target, details })
  const targets = async () => {
    const rows = await stack.postgres.accountAction.findMany({ where: { accountId }, orderBy: { id: 'asc' } })
    return rows.map(({ target, details }) => [target, details])
  }
  return { accountId, record, targets }
}

test('an action that is repeated within a minute is recorded once, and another one between them apart', async () => {
  const { record, targets } = await opened()
  for (let time = 0; time < 5; time++) await record('key_1', { name: 'a' })
  await record('key_1', { name: 'b' })
  await record('key_2')
  await record('key_1', { name: 'b' })
  expect(await targets()).toEqual([
    ['key_1', { name: 'a' }],
    ['key_1', { name: 'b' }],
    ['key_2', {}],
    ['key_1', { name: 'b' }],
  ])
})

test('actions are kept for 400 days, in which the database refuses to delete them, and pruned then', async () => {
  const { accountId, record, targets } = await opened()
  await record('key_1')
  await expect(
    stack.postgres.$executeRaw`DELETE FROM account_actions WHERE account_id = ${accountId}`,
  ).rejects.toThrow(/append-only/)
  await stack.postgres.$executeRaw`
    INSERT INTO account_actions (id, account_id, person_id, action, target, details, created_at)
    SELECT 'act_old_' || n, ${accountId}, ${accountId}, 'key.edited', 'old', '{}', now() - interval '401 days'
    FROM generate_series(1, 1500) AS n`
  await pruneAccountActions(stack.postgres)
  expect(await targets()).toEqual([['key_1', {}]])
})
