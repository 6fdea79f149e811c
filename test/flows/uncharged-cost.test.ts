import pino from 'pino'
import { beforeAll, expect, test } from 'vitest'
import { createAccountStore } from '../../src/accounts/account-store.ts'
import { auditUnchargedCost } from '../../src/billing/audit/run-audit.ts'
import { postLedger } from '../../src/billing/ledger/ledger-store.ts'
import { createUnchargedCostStore } from '../../src/billing/reports/uncharged-cost-store.ts'
import type { MarginView } from '../../src/core/api/billing.ts'
import { formatUsd, parseUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { createAuditLog } from '../../src/operators/audit-log.ts'
import { limitUnchargedCost } from '../../src/operators/limit-uncharged-cost.ts'
import { createLogger } from '../../src/platform/observability/logger.ts'
import { announceKeyChange } from '../../src/platform/redis/key-changes.ts'
import { lockKey } from '../../src/platform/redis/redis-keys.ts'
import { adminClient } from '../helpers/admin-client.ts'
import { ask } from '../helpers/chat-client.ts'
import { untilIdle } from '../helpers/ledger.ts'
import { postAs } from '../helpers/requests.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

/** A hang-up costs 13 tokens at 1 USD per million: one is allowed, two slow the account. */
const FLOOR_USD = '0.000015'
const LIMITS = { percent: 25, floorPico: parseUsd(FLOOR_USD) }

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-2' }],
    'test/hangs': [{ at: 'alpha', model: 'hang', cost: '1.00' }],
  },
})
const caller = testAccount(stack, '5.00')
beforeAll(async () => {
  // The settlement process of the stack does not interfere.
  await stack.redis.set(lockKey('uncharged-cost'), 'the test')
})

async function hangUp(): Promise<void> {
  const leaving = new AbortController()
  const before = stack.providers.log.aborted
  const refused = expect(ask(caller, { model: 'test/hangs' }, leaving.signal)).rejects.toThrow()
  await stack.providers.log.arrived(({ model }) => model === 'hang')
  leaving.abort()
  await refused
  await expect.poll(() => stack.providers.log.aborted).toBe(before + 1)
  stack.providers.reset()
  await untilIdle(stack)
}

const logged: string[] = []

/** What the settlement process does every ten seconds. */
async function limit(): Promise<void> {
  const { postgres, redis } = stack
  await limitUnchargedCost({
    costs: createUnchargedCostStore(postgres),
    accounts: createAccountStore(postgres, postLedger),
    announce: (change) => announceKeyChange(redis, change),
    auditedAction: createAuditLog(postgres, createLogger('silent', 'test')).auditedAction,
    limits: LIMITS,
    logger: pino({ level: 'error' }, { write: (line: string) => void logged.push(line) }),
    clock: Date.now,
  })
}

const audited = async () =>
  (
    await stack.postgres.operatorAction.findMany({
      where: { target: caller.accountId },
      orderBy: { id: 'asc' },
    })
  ).map(({ actor, action }) => `${actor.split(':')[0]} ${action}`)

const statusOf = async () => (await ask(caller, { model: 'test/plain' })).status

test('an account with too much uncharged cost is slowed, then suspended, until an operator resumes it', async () => {
  await hangUp()
  await limit()
  expect(await statusOf()).toBe(200)
  expect(await audited()).toEqual([])

  await hangUp()
  await limit()
  expect(await audited()).toEqual(['gateway account.slow'])
  await expect.poll(statusOf).toBe(429)
  const refused = await postAs(caller.key, `${caller.url}/v1/chat/completions`, {
    model: 'test/plain',
    messages: [{ role: 'user', content: 'Go.' }],
  })
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)

  const causedPico = parseUsd('1.00')
  await stack.postgres.accountProviderCost.updateMany({
    where: { accountId: caller.accountId },
    data: { causedPico, unchargedPico: causedPico },
  })
  expect(await auditUnchargedCost(stack.postgres, LIMITS)).toMatchObject({ broken: 0 })
  await stack.postgres.account.update({ where: { id: caller.accountId }, data: { slowedAt: null } })
  expect(await auditUnchargedCost(stack.postgres, LIMITS)).toMatchObject({
    broken: 1,
    discrepancies: [{ subject: caller.accountId }],
  })
  await limit()
  await expect.poll(statusOf).toBe(403)
  expect(await audited()).toContain('gateway account.suspend')
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([
    { alarm: 'uncharged-cost', accountId: caller.accountId, action: 'account.slow' },
    { alarm: 'uncharged-cost', accountId: caller.accountId, action: 'account.suspend' },
  ])

  await stack.command('admin', 'account', 'resume', caller.accountId)
  await limit()
  expect(await stack.postgres.account.findUniqueOrThrow({ where: { id: caller.accountId } })).toMatchObject({
    state: 'active',
    slowedAt: null,
  })
})

test('the margin report names the uncharged cost of each account', async () => {
  const records = await stack.postgres.callRecord.findMany({
    where: { accountId: caller.accountId, chargePico: 0n },
  })
  const spent = records
    .flatMap(({ attempts }) => attempts as unknown as Array<{ spent?: { costPico: string } }>)
    .reduce((sum, attempt) => sum + BigInt(attempt.spent?.costPico ?? 0), 0n)
  expect(spent).toBeGreaterThan(LIMITS.floorPico)
  const { data } = await adminClient(stack, await stack.adminKey()).get<MarginView>(
    '/margin?group_by=account',
  )
  expect(data).toMatchObject([{ group: caller.accountId, broken_cost_usd: formatUsd(picoUsd(spent)) }])
})
