import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createKeyHasher } from '../../src/accounts/key-hash.ts'
import { createKeyStore } from '../../src/accounts/key-store.ts'
import { readConfig } from '../../src/config.ts'
import type { GroupBudgetView, SpendCapView } from '../../src/core/api/budgets.ts'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { allowancePeriod } from '../../src/core/billing/allowance-period.ts'
import { accountBudget, memberBudget } from '../../src/core/billing/budget.ts'
import { formatUsd, parseUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { allowanceKey } from '../../src/platform/redis/redis-keys.ts'
import { allAtOnce } from '../helpers/all-at-once.ts'
import { ask, stream, type WholeAnswer } from '../helpers/chat-client.ts'
import { signedUp } from '../helpers/console-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { getAs, postAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

const WORDS = 100
const MESSAGES = [{ role: 'user' as const, content: 'Go.' }]
const BODY = { max_tokens: WORDS, messages: MESSAGES }
/** What one call holds. */
const HOLD = BigInt(promptTokensBound(MESSAGES, {})) * 1_000_000n + BigInt(WORDS) * 2_000_000n

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
    'test/held': [{ at: 'alpha', model: `words-${WORDS}.held` }],
    'test/begun': [{ at: 'alpha', model: `words-${WORDS}.held-10` }],
  },
  apis: 2,
  environment: { RECOVERY_GRACE_MS: '3000' },
})

/** Sends calls at once, by turns with each key and to either API instance. None ends before all were decided on. */
const storm = (keys: string[], calls: number, more: object = {}): Promise<WholeAnswer[]> =>
  allAtOnce(stack.providers, calls, (index) =>
    ask(
      { url: stack.urls[index % 2]!, key: keys[index % keys.length]! },
      { model: 'test/held', ...BODY, ...more },
    ),
  )

const outcomes = (answers: WholeAnswer[]) => ({
  succeeded: answers.filter(({ status }) => status === 200).length,
  refused: answers.filter(({ errorCode }) => errorCode === 'key_limit_exceeded').length,
})

const month = () => allowancePeriod('monthly', Date.now())

async function spent(accountId: string): Promise<bigint> {
  const sum = { chargePico: true } as const
  const { _sum } = await stack.postgres.callRecord.aggregate({ where: { accountId }, _sum: sum })
  return _sum.chargePico ?? 0n
}

async function refusal(key: string, more: object = {}) {
  const response = await postAs(key, `${stack.url}/v1/chat/completions`, {
    ...{ ...BODY, model: 'test/plain', max_tokens: WORDS * 50, ...more },
  })
  expect(response.status).toBe(402)
  const { error } = (await response.json()) as {
    error: { code: string; message: string; metadata: Record<string, string> }
  }
  return error
}

/** Keys of an account, of the member who made them. */
async function keysOf(
  accountId: string,
  count: number,
  createdBy: string | null = null,
  project: string | null = null,
): Promise<string[]> {
  const { masterKeys } = readConfig(stack.environment)
  const store = createKeyStore(stack.postgres, createKeyHasher(masterKeys), randomBytes)
  const settings = { name: '', limitPico: null, limitReset: 'none', expiresAt: null } as const
  const rates = { requestsPerMinute: 1_000_000, concurrentCalls: 10_000 }
  const created = Array.from({ length: count }, () =>
    store.create(accountId, { ...settings, ...rates, createdBy, project }),
  )
  return (await Promise.all(created)).map(({ secret }) => secret)
}

async function capped(monthlyLimitPico: bigint) {
  const { accountId, key } = await stack.account('20.00', { scopes: ['budgets'] })
  const limits = { requestsPerMinute: 1_000_000, concurrentCalls: 10_000 }
  await stack.postgres.account.update({ where: { id: accountId }, data: { monthlyLimitPico, ...limits } })
  return { accountId, key }
}

describe('a monthly spend cap', () => {
  test('of sixty calls at once over three keys and two instances, ten succeed on a cap for ten', async () => {
    const limitPico = HOLD * 10n
    const { accountId, key } = await capped(limitPico)
    const others = await keysOf(accountId, 2)
    expect(outcomes(await storm([key, ...others], 60))).toEqual({ succeeded: 10, refused: 50 })
    await expectLedgerInOrder(stack)
    const left = await stack.redis.get(allowanceKey(accountBudget(accountId), month().id))
    expect(left).toBe(String(limitPico - (await spent(accountId))))
    const error = await refusal(key)
    expect(error.code).toBe('key_limit_exceeded')
    expect(error.message).toContain("The account's monthly spend cap does not cover")
    const resetsAt = new Date(month().endsAt!).toISOString()
    expect(error.message).toContain(`It resets at ${resetsAt}.`)
    expect(error.metadata).toMatchObject({ limited_by: 'account', resets_at: resetsAt })
    await eventually(async () => {
      const events = await stack.postgres.event.findMany({ where: { accountId } })
      expect(events.map(({ type }) => type)).toEqual(['account.limit_reached'])
    })
  })

  test('holds when Redis loses everything while calls run', async () => {
    const { accountId, key } = await capped(HOLD * 5n)
    const caller = { url: stack.url, key }
    await ask(caller, { model: 'test/plain', ...BODY })
    await stack.settled(accountId)
    const afterOne = (HOLD * 5n - (await spent(accountId))) / HOLD
    const open = await Promise.all([1, 2].map(() => stream(caller, { model: 'test/begun', ...BODY })))
    await Promise.all(open.map((one) => one.said(1)))
    await stack.redis.flushall()
    const succeeded = Number(afterOne) - 2
    expect(outcomes(await storm([key], 20))).toEqual({ succeeded, refused: 20 - succeeded })
    for (const one of open) one.hangUp()
    await expectLedgerInOrder(stack)
    expect(await spent(accountId)).toBeLessThanOrEqual(HOLD * 5n)
  })

  test('set, lowered and lifted in the console, it applies at every instance at once, with running calls', async () => {
    const client = await signedUp(stack.url)
    const { account } = await client.json<SessionView>('/console/api/session')
    await stack.command('admin', 'account', 'credit', account.id, '20.00')
    const { secret } = await client.json<CreatedKey>('/console/api/keys', { body: { name: 'app' } })
    const everywhere = async () => {
      const callers = stack.urls.map((url) => ({ url, key: secret }))
      const answers = await Promise.all(
        callers.map((caller) => ask(caller, { model: 'test/plain', ...BODY })),
      )
      return answers.map(({ status, errorCode }) => errorCode ?? status)
    }
    const setCap = (limitUsd: string | null) =>
      client.json<SpendCapView>('/console/api/spend-cap', { method: 'PATCH', body: { limit_usd: limitUsd } })

    const open = await stream({ url: stack.url, key: secret }, { model: 'test/begun', ...BODY })
    await open.said(1)
    // Room for the call that runs, and for nothing else.
    const cap = formatUsd(picoUsd(HOLD + HOLD / 2n))
    expect(await setCap(cap)).toMatchObject({ limit_usd: cap, spent_usd: '0.00', remaining_usd: cap })
    expect(await everywhere()).toEqual(['key_limit_exceeded', 'key_limit_exceeded'])
    open.hangUp()
    await stack.settled(account.id)
    const charged = await spent(account.id)
    expect(await client.json<SpendCapView>('/console/api/spend-cap')).toMatchObject({
      limit_usd: cap,
      spent_usd: formatUsd(picoUsd(charged)),
      remaining_usd: formatUsd(picoUsd(HOLD + HOLD / 2n - charged)),
      resets_at: new Date(month().endsAt!).toISOString(),
    })
    expect(await setCap(formatUsd(picoUsd(charged + HOLD * 2n)))).toMatchObject({
      remaining_usd: formatUsd(picoUsd(HOLD * 2n)),
    })
    expect(await everywhere()).toEqual([200, 200])
    await stack.settled(account.id)
    await setCap('0.00')
    expect(await everywhere()).toEqual(['key_limit_exceeded', 'key_limit_exceeded'])
    expect(await setCap(null)).toMatchObject({ limit_usd: null, remaining_usd: null })
    expect(await everywhere()).toEqual([200, 200])
    await expectLedgerInOrder(stack)
    const actions = await stack.postgres.accountAction.findMany({ where: { action: 'spend_cap.set' } })
    expect(actions.map(({ details }) => details)).toContainEqual({ limit_usd: cap })
  })
})

test('a budget bounds the keys that its member made together, and no other keys', async () => {
  const { accountId, key } = await capped(HOLD * 9n)
  const personId = (await stack.account('0.50')).accountId
  const budget = { accountId, personId, role: 'developer', monthlyBudgetPico: HOLD * 4n } as const
  await stack.postgres.organisationMember.create({ data: budget })
  const keys = await keysOf(accountId, 2, personId)
  expect(outcomes(await storm(keys, 20))).toEqual({ succeeded: 4, refused: 16 })
  await expectLedgerInOrder(stack)
  const ofMember = await spent(accountId)
  const left = await stack.redis.get(allowanceKey(memberBudget(accountId, personId), month().id))
  expect(left).toBe(String(HOLD * 4n - ofMember))
  expect(await refusal(keys[0]!)).toMatchObject({
    message: expect.stringContaining('An owner or admin raises it under Members'),
    metadata: { limited_by: 'member' },
  })
  const rest = Number((HOLD * 9n - ofMember) / HOLD)
  expect(outcomes(await storm([key], 20))).toEqual({ succeeded: rest, refused: 20 - rest })
  await expectLedgerInOrder(stack)
  const response = await getAs(keys[0]!, `${stack.url}/v1/key`)
  const resetsAt = new Date(month().endsAt!).toISOString()
  expect(await response.json()).toMatchObject({
    remaining_usd: null,
    member_budget: {
      limit_usd: formatUsd(picoUsd(HOLD * 4n)),
      used_usd: formatUsd(picoUsd(ofMember)),
      remaining_usd: formatUsd(picoUsd(HOLD * 4n - ofMember)),
      resets_at: resetsAt,
    },
    spend_cap: { limit_usd: formatUsd(picoUsd(HOLD * 9n)), resets_at: resetsAt },
  })
})

test('budgets of a tag, an end user and a project bound what names them, at every instance and after a loss of Redis', async () => {
  const { accountId, key } = await capped(HOLD * 500n)
  const set = async (body: object) => {
    const response = await postAs(key, `${stack.url}/v2/budgets`, body)
    expect({ status: response.status, body: await response.clone().json() }).toMatchObject({ status: 200 })
    return (await response.json()) as GroupBudgetView
  }
  const usd = (holds: bigint) => formatUsd(picoUsd(HOLD * holds))
  await Promise.all([
    set({ scope: 'tag', tag: 'team', limit_usd: null }),
    set({ scope: 'user', limit_usd: usd(2n), limit_reset: 'daily' }),
    set({ scope: 'project', value: 'Web', limit_usd: usd(3n) }),
  ])
  const search = { scope: 'tag', value: 'search', limit_usd: usd(10n) }
  expect(await set(search)).toMatchObject({ tag: 'team', limit_usd: usd(10n), used_usd: '0.00', requests: 0 })

  const keys = [key, ...(await keysOf(accountId, 2))]
  const ofSearch = { metadata: { team: 'search' } }
  expect(outcomes(await storm(keys, 60, ofSearch))).toEqual({ succeeded: 10, refused: 50 })
  expect(outcomes(await storm(keys, 12, { metadata: { team: 'ads' } }))).toMatchObject({ succeeded: 12 })
  expect(outcomes(await storm(keys, 20, { user: 'user-1' }))).toEqual({ succeeded: 2, refused: 18 })
  const ofProject = await keysOf(accountId, 2, null, 'Web')
  expect(outcomes(await storm(ofProject, 20))).toEqual({ succeeded: 3, refused: 17 })
  await expectLedgerInOrder(stack)

  const listed = async () => {
    const response = await getAs(key, `${stack.url}/v2/budgets`)
    const { data } = (await response.json()) as { data: GroupBudgetView[] }
    return (value: string) => data.find((budget) => budget.value === value)!
  }
  const reads = async () =>
    Number(/cmdstat_mget:calls=(\d+)/.exec(await stack.redis.info('commandstats'))?.[1] ?? 0)
  const readBefore = await reads()
  const found = await listed()
  expect(await reads()).toBe(readBefore + 1)
  expect(found('search')).toMatchObject({ requests: 10, is_default: false })
  expect(found('ads')).toMatchObject({ requests: 12, is_default: true, limit_usd: null, remaining_usd: null })
  expect(found('user-1')).toMatchObject({ requests: 2, is_default: true, limit_reset: 'daily' })
  expect(found('Web')).toMatchObject({ requests: 3, keys: 2 })
  const left = parseUsd(found('search').remaining_usd!)
  expect(left).toBe(HOLD * 10n - parseUsd(found('search').used_usd))

  await stack.redis.flushall()
  const succeeded = Number(left / HOLD)
  expect(outcomes(await storm(keys, 20, ofSearch))).toEqual({ succeeded, refused: 20 - succeeded })
  const error = await refusal(key, ofSearch)
  expect(error.message).toContain('The budget of the tag team=search does not cover')
  expect(error.metadata).toMatchObject({ limited_by: 'tag', tag: 'team=search' })
  await expectLedgerInOrder(stack)
  await eventually(async () => {
    const events = await stack.postgres.event.findMany({ where: { accountId, type: 'budget.limit_reached' } })
    expect(events.map(({ data }) => data)).toContainEqual(
      expect.objectContaining({
        scope: 'tag',
        name: 'team=search',
        limit_usd: usd(10n),
        limit_reset: 'monthly',
      }),
    )
  })

  const deleted = await fetch(`${stack.url}/v2/budgets?scope=project&value=Web`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
  })
  expect(deleted.status).toBe(200)
  expect(outcomes(await storm(ofProject, 6))).toEqual({ succeeded: 6, refused: 0 })
})
