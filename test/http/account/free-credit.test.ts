import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/config.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { consoleClient, PASSWORD } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testStack } from '../../helpers/resources.ts'
import { startStack, type TestStack } from '../../helpers/stack.ts'
import { expectError } from '../wire.ts'

const MODELS = { 'test/one': [{ at: 'alpha', model: 'words-12' }] }
/** Tests write the client's address into X-Forwarded-For. */
const BEHIND_PROXY = { TRUSTED_PROXIES: '127.0.0.1' }

let names = 0
const signUp = (url: string, address: string, email = `applicant-${++names}@example.test`) =>
  consoleClient(url).ask('/console/api/sign-up', {
    body: { email, password: PASSWORD },
    headers: { 'x-forwarded-for': address },
  })

async function opened(url: string, address: string, email?: string): Promise<SessionView> {
  const response = await signUp(url, address, email)
  expect(response.status).toBe(201)
  return (await response.json()) as SessionView
}

const outcome = ({ account, balance }: SessionView) => [account.free_credit, balance.balance_usd]

/** What the ledger says was given away, pico-USD. */
async function givenAway({ postgres }: TestStack): Promise<bigint> {
  const { _sum } = await postgres.ledgerEntry.aggregate({
    where: { kind: 'free_credit', ledgerAccount: { startsWith: 'customer:' } },
    _sum: { amountPico: true },
  })
  return _sum.amountPico ?? 0n
}

describe('accounts opened from many addresses', () => {
  let stack: TestStack
  beforeAll(async () => {
    const environment = { ...BEHIND_PROXY, FREE_CREDITS_PER_ADDRESS: '2' }
    stack = await startStack({
      models: MODELS,
      environment: { ...environment, SIGN_UPS_PER_ADDRESS: '4' },
    })
  })
  afterAll(() => stack.close())

  test('all addresses of one /64 open no more accounts than one address may, with no more credit', async () => {
    const fromHost = (host: number) => signUp(stack.url, `2001:db8:1:1::${host.toString(16)}`)
    for (let host = 1; host <= 3; host++) expect((await fromHost(host)).status).toBe(201)
    const statuses: number[] = []
    for (let start = 0; start < 300; start += 50) {
      const batch = await Promise.all(Array.from({ length: 50 }, (_, index) => fromHost(4 + start + index)))
      for (const { status } of batch) statuses.push(status)
    }
    // One more is let through. A busy machine may fail to open its account among so many that ask.
    expect(statuses.filter((status) => status !== 429)).toHaveLength(1)
    expect(await givenAway(stack)).toBe(2n * 500_000_000_000n)
  })

  test('the many /64 of one /48 share four times the allowance of one', async () => {
    const all = []
    for (let subnet = 1; subnet <= 17; subnet++) all.push(await signUp(stack.url, `2001:db8:2:${subnet}::1`))
    expect(all.map(({ status }) => status)).toEqual([...Array(16).fill(201), 429])
    const views = (await Promise.all(all.slice(0, 16).map((one) => one.json()))) as SessionView[]
    expect(views.map(({ account }) => account.free_credit)).toEqual([
      ...Array(8).fill('granted'),
      ...Array(8).fill('network_used'),
    ])
  })

  test('IPv4 addresses count for themselves, also written as IPv6', async () => {
    expect(outcome(await opened(stack.url, '198.51.100.1'))).toEqual(['granted', '0.50'])
    expect(outcome(await opened(stack.url, '::ffff:198.51.100.1'))).toEqual(['granted', '0.50'])
    expect(outcome(await opened(stack.url, '198.51.100.1'))).toEqual(['network_used', '0.00'])
    expect(outcome(await opened(stack.url, '198.51.100.2'))).toEqual(['granted', '0.50'])
  })

  test('guesses of passwords count the same way: the addresses of a /64 are one', async () => {
    const guess = (host: number) =>
      consoleClient(stack.url).ask('/console/api/sign-in', {
        body: { email: 'guessed@example.test', password: 'not the password' },
        headers: { 'x-forwarded-for': `2001:db8:3:1::${host.toString(16)}` },
      })
    for (let host = 1; host <= 10; host++) await expectError(await guess(host), 401, 'invalid_credentials')
    await expectError(await guess(11), 429, 'rate_limit_exceeded')
  })
})

describe('the free credit of an hour', () => {
  test.each(['-1', 'plenty', '1e3', '5,00'])('a free-credit budget of %j is refused at start', (budget) => {
    const required = { DATABASE_URL: 'postgresql://x/x', REDIS_URL: 'redis://x', MASTER_KEY: '0'.repeat(64) }
    expect(() => readConfig({ ...required, FREE_CREDIT_BUDGET_USD: budget })).toThrow(
      'FREE_CREDIT_BUDGET_USD',
    )
  })

  test('is given away to the last cent and no further, however many sign up at once at two instances', async () => {
    const stack = await startStack({
      models: MODELS,
      apis: 2,
      environment: { ...BEHIND_PROXY, FREE_CREDIT_BUDGET_USD: '3.70', FREE_CREDIT_USD: '0.50' },
    })
    try {
      const all = await Promise.all(
        Array.from({ length: 16 }, (_, index) => opened(stack.urls[index % 2]!, `198.51.100.${index + 1}`)),
      )
      const states = all.map(({ account }) => account.free_credit).sort()
      expect(states).toEqual([...Array(9).fill('budget_used'), ...Array(7).fill('granted')])
      expect(await givenAway(stack)).toBe(7n * 500_000_000_000n)
      await eventually(async () =>
        expect(
          await stack.postgres.alarm.findFirst({ where: { kind: 'free-credit-budget-used' } }),
        ).toMatchObject({
          acknowledgedAt: null,
        }),
      )
    } finally {
      await stack.close()
    }
  })
})

describe('one mailbox', () => {
  const stack = testStack({
    models: MODELS,
    environment: { PAYMENTS_DEVELOPMENT_RAIL: 'true' },
  })
  const HERE = '127.0.0.1'

  test.each([
    ['a tag', 'tagged@example.test', 'tagged+1@example.test'],
    ['dots at a provider that ignores them', 'dotted@gmail.com', 'do.tt.ed@googlemail.com'],
  ])('has one credit, whatever account asks: %s', async (_, first, second) => {
    expect(outcome(await opened(stack.url, HERE, first))).toEqual(['granted', '0.50'])
    expect(outcome(await opened(stack.url, HERE, second))).toEqual(['mailbox_used', '0.00'])
  })

  test('has one credit when its accounts are opened at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 6 }, (_, index) => opened(stack.url, HERE, `rush+${index}@example.test`)),
    )
    expect(all.filter(({ account }) => account.free_credit === 'granted')).toHaveLength(1)
  })

  test('an account without credit can top up, and then has calls like any other', async () => {
    await opened(stack.url, HERE, 'payer@example.test')
    const client = consoleClient(stack.url)
    const session = await client.json<SessionView>('/console/api/sign-up', {
      body: { email: 'payer+2@example.test', password: PASSWORD },
    })
    expect(session.account).toMatchObject({
      state: 'exhausted',
      free_credit: 'mailbox_used',
      free_credit_usd: null,
    })
    await client.json('/console/api/top-ups', { body: { amount_usd: '5.00', rail: 'development' } })
    await eventually(async () =>
      expect(await client.json<SessionView>('/console/api/session')).toMatchObject({
        account: { state: 'active' },
        balance: { available_usd: '5.00' },
      }),
    )
  })

  test('emails that are equal in compatible characters are one account', async () => {
    await opened(stack.url, HERE, 'wide@example.test')
    await expectError(await signUp(stack.url, HERE, 'ｗｉｄｅ@Example.test'), 409, 'email_taken')
    const signedIn = await consoleClient(stack.url).ask('/console/api/sign-in', {
      body: { email: 'ＷＩＤＥ@example.test', password: PASSWORD },
    })
    expect(signedIn.status).toBe(200)
  })

  test.each(['zero\u200bwidth@example.test', 'nul\u0000@example.test', '"quoted"@example.test'])(
    'no account has the email %j',
    async (email) => {
      const refused = await expectError(await signUp(stack.url, HERE, email), 400, 'invalid_request')
      expect(refused.param).toBe('email')
    },
  )

  test('control characters in names, and NUL in what is asked for, are 400', async () => {
    const client = consoleClient(stack.url)
    await client.json('/console/api/sign-up', { body: { email: 'namer@example.test', password: PASSWORD } })
    const named = await client.ask('/console/api/keys', { body: { name: 'a\u0000b' } })
    expect((await expectError(named, 400, 'invalid_request')).param).toBe('name')
    await expectError(await client.ask('/console/api/top-ups/pay_%00'), 400, 'invalid_request')
    const wrong = { body: { email: 'nul\u0000@example.test', password: PASSWORD } }
    await expectError(await client.ask('/console/api/sign-in', wrong), 400, 'invalid_request')
  })

  test('accounts that the operator makes have the credit that the operator says', async () => {
    const made = await stack.command('admin', 'account', 'create', '--email', 'tagged+2@example.test')
    expect(made.json).toMatchObject({ state: 'free_credit', balance_usd: '0.50' })
  })
})
