import { expect, test } from 'vitest'
import { createHoldStore } from '../../../src/billing/holds/hold-store.ts'
import type { RefundTopUpRequest } from '../../../src/core/api/accounts.ts'
import type { OperatorTopUp } from '../../../src/core/api/billing.ts'
import type { OperatorActionView } from '../../../src/core/api/operations.ts'
import type { Page } from '../../../src/core/api/shared.ts'
import { newCallId } from '../../../src/core/kernel/ids.ts'
import { expectLedgerInOrder } from '../../helpers/ledger.ts'
import { openHold } from '../../helpers/open-hold.ts'
import { testOperator, testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const stack = testStack({
  models: { 'test/plain': [{ at: 'alpha', model: 'words-3' }] },
  environment: { PAYMENTS_DEVELOPMENT_RAIL: 'true' },
})
const billing = testOperator(stack, 'billing')

/** An account with a settled top-up of 25 USD beside a credit of one. */
async function toppedUp(): Promise<{ accountId: string; topUpId: string; refundPath: string }> {
  const { accountId } = await stack.account('1.00')
  const words = ['--account', accountId, '--amount', '25', '--rail', 'development']
  const { json } = await stack.command('admin', 'topup', 'create', ...words)
  const topUpId = (json as { payment_id: string }).payment_id
  return { accountId, topUpId, refundPath: `/accounts/${accountId}/top-ups/${topUpId}/refund` }
}
const request = (fields: Partial<RefundTopUpRequest> = {}) => ({
  amount_usd: '10.00',
  reason: 'asked for it back',
  returned_usd: '0.00',
  ...fields,
})
const balanceOf = async (accountId: string) =>
  Number((await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })).balancePico) / 1e12
const actionsOn = async (target: string) =>
  (await billing.get<Page<OperatorActionView>>(`/actions?target=${target}`)).data

test('an operator refunds a part of a top-up, with a reason in the audit log', async () => {
  const { accountId, topUpId, refundPath } = await toppedUp()
  expect(await billing.post<OperatorTopUp>(refundPath, request())).toMatchObject({
    id: topUpId,
    state: 'refunded',
    returned_usd: '10.00',
  })
  expect(await balanceOf(accountId)).toBe(16)
  expect(await actionsOn(topUpId)).toMatchObject([
    {
      action: 'topup.refund',
      outcome: 'asked',
      // Whose top-up it is.
      target_name: expect.stringMatching(/@example\.test$/),
      details: { amount_usd: '10.00', reason: 'asked for it back' },
    },
  ])
})

test('a request that is sent again refunds nothing more', async () => {
  const { accountId, refundPath } = await toppedUp()
  await billing.post(refundPath, request())
  await expectError(await billing.send('POST', refundPath, request()), 409, 'conflict')
  expect(await balanceOf(accountId)).toBe(16)
})

test('what cannot be refunded is refused by name, and nothing moves', async () => {
  const { accountId, topUpId, refundPath } = await toppedUp()
  const refused = async (fields: Partial<RefundTopUpRequest>, status: number, code: string) =>
    expectError(await billing.send('POST', refundPath, request(fields)), status, code)
  await refused({ amount_usd: '25.01' }, 409, 'conflict')
  await refused({ amount_usd: '1.001' }, 400, 'invalid_request')
  await refused({ reason: '' }, 400, 'invalid_request')
  const other = await toppedUp()
  const elsewhere = `/accounts/${other.accountId}/top-ups/${topUpId}/refund`
  await expectError(await billing.send('POST', elsewhere, request()), 404, 'not_found')
  expect(await balanceOf(accountId)).toBe(26)
})

test('what the balance does not have is refunded only if forced', async () => {
  const { accountId, topUpId, refundPath } = await toppedUp()
  const holds = createHoldStore(stack.redis)
  await holds.load(accountId, await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } }))
  const callId = newCallId()
  const held = await openHold(stack.redis, accountId, callId, 20_000_000_000_000n)
  expect(held).toMatchObject({ kind: 'admitted' })
  const answer = await billing.send('POST', refundPath, request())
  const { message } = await expectError(answer, 409, 'conflict')
  expect(message).toContain('The balance has 6.00 USD')
  expect((await actionsOn(topUpId)).map(({ outcome }) => outcome).sort()).toEqual(['asked', 'failed'])
  const forced = await billing.post<OperatorTopUp>(refundPath, request({ force: true }))
  expect(forced).toMatchObject({ returned_usd: '10.00' })
  expect(await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })).toMatchObject({
    state: 'suspended',
    owedPico: 4_000_000_000_000n,
  })
  await holds.release(accountId, callId)
})

test('the ledger is in order after all of it', async () => {
  await expectLedgerInOrder(stack)
})
