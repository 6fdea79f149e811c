import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/config.ts'
import type { SentMailView } from '../../../src/core/api/accounts.ts'
import type { SessionView, VerifiedView } from '../../../src/core/api/sessions.ts'
import type { Page } from '../../../src/core/api/shared.ts'
import { queuePrefix } from '../../../src/platform/redis/redis-keys.ts'
import { adminClient } from '../../helpers/admin-client.ts'
import { consoleClient, PASSWORD, signedUp } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { expectAbsent } from '../../helpers/everything-stored.ts'
import { testMailCatcher, testStack } from '../../helpers/resources.ts'
import { startStack } from '../../helpers/stack.ts'
import { expectError } from '../wire.ts'

const MODELS = { 'test/one': [{ at: 'alpha', model: 'words-12' }] }
const SITE = 'https://gateway.example'

const mailEnvironment = () => ({
  ...catcher.environment,
  PUBLIC_URL: SITE,
})

const catcher = testMailCatcher()
const stack = testStack(() => ({ models: MODELS, environment: mailEnvironment() }))

const verify = (token: string, url = stack.url) =>
  consoleClient(url).ask('/console/api/verify', { body: { token } })

async function verified(token: string, url = stack.url): Promise<VerifiedView> {
  const response = await verify(token, url)
  expect(response.status).toBe(200)
  return (await response.json()) as VerifiedView
}

const sentTo = (recipient: string) => stack.postgres.sentMail.findMany({ where: { recipient } })

const sessionOf = (client: { json<T>(path: string): Promise<T> }) =>
  client.json<SessionView>('/console/api/session')

const postings = (accountId: string) =>
  stack.postgres.ledgerTransaction.count({ where: { accountId, kind: 'free_credit' } })

describe('an account whose email is not verified', () => {
  test('has no credit until the link of its message is used, and then can spend it', async () => {
    const client = await signedUp(stack.url)
    const before = await sessionOf(client)
    expect(before.account).toMatchObject({
      state: 'exhausted',
      free_credit: 'unverified',
      free_credit_usd: null,
    })
    expect(before.balance.available_usd).toBe('0.00')

    const [token = ''] = await catcher.tokens(client.email)
    expect(await verified(token)).toEqual({ free_credit: 'granted' })

    const { account, balance } = await sessionOf(client)
    expect(account).toMatchObject({ state: 'free_credit', free_credit: 'granted', free_credit_usd: '0.50' })
    expect(balance.available_usd).toBe('0.50')
    expect(await postings(account.id)).toBe(1)
  })

  test('gets one plain message, to its address alone, that names the site and the link', async () => {
    const client = await signedUp(stack.url)
    await catcher.tokens(client.email)
    const messages = catcher.received.filter(({ to }) => to.includes(client.email))
    expect(messages).toHaveLength(1)
    const [{ to, content } = { to: [], content: '' }] = messages
    expect(to).toEqual([client.email])
    expect(content).toMatch(/^From: Shuntyard <noreply@gateway\.example>\r$/m)
    expect(content).toMatch(/^Subject: Verify your email address\r$/m)
    expect(content).toMatch(/^Auto-Submitted: auto-generated\r$/m)
    expect(content).toMatch(/^Content-Type: text\/plain/m)
    expect(content).toContain(`${SITE}/verify#`)
  })

  test('has its link kept as a hash alone', async () => {
    const client = await signedUp(stack.url)
    const [token = ''] = await catcher.tokens(client.email)
    const rows = await stack.postgres.$queryRaw<{ row: string }[]>`SELECT t::text AS row FROM email_tokens t`
    expect(rows.length).toBeGreaterThan(0)
    expectAbsent(rows.map(({ row }) => row).join('\n'), [token], 'email_tokens')
  })
})

describe('a link', () => {
  test('works once: used again, it is refused and posts nothing', async () => {
    const client = await signedUp(stack.url)
    const [token = ''] = await catcher.tokens(client.email)
    await verified(token)
    expect((await expectError(await verify(token), 400, 'invalid_request')).param).toBe('token')
    expect((await sessionOf(client)).balance.balance_usd).toBe('0.50')
  })

  test('used many times at once posts one credit', async () => {
    const client = await signedUp(stack.url)
    const [token = ''] = await catcher.tokens(client.email)
    const statuses = (await Promise.all(Array.from({ length: 8 }, () => verify(token)))).map(
      ({ status }) => status,
    )
    expect(statuses.sort()).toEqual([200, 400, 400, 400, 400, 400, 400, 400])
    const { account, balance } = await sessionOf(client)
    expect([balance.balance_usd, await postings(account.id)]).toEqual(['0.50', 1])
  })

  test('expires after 24 hours, and another one can be asked for', async () => {
    const client = await signedUp(stack.url)
    const [token = ''] = await catcher.tokens(client.email)
    const { account } = await sessionOf(client)
    const { expiresAt } = await stack.postgres.emailToken.findFirstOrThrow({
      where: { accountId: account.id },
    })
    const hours = (expiresAt.getTime() - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(23.9)
    expect(hours).toBeLessThanOrEqual(24)
    await stack.postgres.emailToken.updateMany({
      where: { accountId: account.id },
      data: { expiresAt: new Date(Date.now() - 1) },
    })
    await expectError(await verify(token), 400, 'invalid_request')
    expect(await postings(account.id)).toBe(0)

    expect((await client.ask('/console/api/verification-mails', { body: {} })).status).toBe(204)
    const [, again = ''] = await catcher.tokens(client.email, 2)
    expect(again).not.toBe(token)
    expect(await verified(again)).toEqual({ free_credit: 'granted' })
  })

  test('ends with the others of its account when one of them is used', async () => {
    const client = await signedUp(stack.url)
    await catcher.tokens(client.email)
    await client.ask('/console/api/verification-mails', { body: {} })
    const [first = '', second = ''] = await catcher.tokens(client.email, 2)
    await verified(first)
    await expectError(await verify(second), 400, 'invalid_request')
    const { account } = await sessionOf(client)
    expect(await stack.postgres.emailToken.count({ where: { accountId: account.id } })).toBe(0)
  })

  test.each(['x', 'A'.repeat(43), `${'A'.repeat(42)}=`])(
    'that was made up opens nothing: %j',
    async (token) => {
      await expectError(await verify(token), 400, 'invalid_request')
    },
  )

  test('is not used by the page of another site', async () => {
    const client = await signedUp(stack.url)
    const [token = ''] = await catcher.tokens(client.email)
    const response = await client.ask('/console/api/verify', {
      body: { token },
      headers: { 'sec-fetch-site': 'cross-site' },
    })
    await expectError(response, 403, 'not_permitted')
    expect(await verified(token)).toEqual({ free_credit: 'granted' })
  })
})

describe('messages', () => {
  test('go to one mailbox five times an hour, whatever accounts ask', async () => {
    const sign = (email: string) => {
      const client = consoleClient(stack.url)
      return client.json('/console/api/sign-up', { body: { email, password: PASSWORD } }).then(() => client)
    }
    const first = await sign('flooded@example.test')
    const second = await sign('flooded+2@example.test')
    const again = (client: typeof first) => client.ask('/console/api/verification-mails', { body: {} })
    await catcher.tokens('flooded@example.test')
    await catcher.tokens('flooded+2@example.test')
    for (let count = 2; count <= 4; count++) {
      expect((await again(first)).status).toBe(204)
      await catcher.tokens('flooded@example.test', count)
    }
    for (const client of [first, second]) {
      const refused = await again(client)
      await expectError(refused, 429, 'rate_limit_exceeded')
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(catcher.received.filter(({ to }) => to.some((one) => one.startsWith('flooded')))).toHaveLength(5)
  })

  test('verification messages are sent only to signed-in accounts that wait for one', async () => {
    await expectError(
      await consoleClient(stack.url).ask('/console/api/verification-mails', { body: {} }),
      401,
      'not_signed_in',
    )
    const client = await signedUp(stack.url)
    const [token = ''] = await catcher.tokens(client.email)
    await verified(token)
    await expectError(await client.ask('/console/api/verification-mails', { body: {} }), 409, 'conflict')
  })

  test('verification messages are retried while the mail server is busy, with an alarm', async () => {
    let refusals = 0
    catcher.answer = (recipient) => (recipient.startsWith('busy') && refusals++ < 1 ? 451 : null)
    const client = consoleClient(stack.url)
    await client.json('/console/api/sign-up', { body: { email: 'busy@example.test', password: PASSWORD } })
    const [token = ''] = await catcher.tokens('busy@example.test')
    expect(refusals).toBe(2)
    expect(await verified(token)).toEqual({ free_credit: 'granted' })
    await eventually(async () =>
      expect(await sentTo('busy@example.test')).toMatchObject([{ kind: 'verify-email', outcome: 'sent' }]),
    )
    await eventually(async () =>
      expect(await stack.postgres.alarm.count({ where: { kind: 'mail-not-sent' } })).toBe(1),
    )
  })

  test('are given up when the mail server knows no such mailbox', async () => {
    const refused: string[] = []
    catcher.answer = (recipient) => {
      if (!recipient.startsWith('nobody')) return null
      refused.push(recipient)
      return 550
    }
    const client = consoleClient(stack.url)
    await client.json('/console/api/sign-up', { body: { email: 'nobody@example.test', password: PASSWORD } })
    await eventually(async () => {
      expect(refused).toHaveLength(1)
      expect(await stack.redis.keys(`${queuePrefix(0)}:mail:verify_email-*`)).toEqual([])
    })
    const [mail, ...others] = await sentTo('nobody@example.test')
    expect(others).toEqual([])
    expect(mail).toMatchObject({ kind: 'verify-email', outcome: 'refused' })
    const path = `/accounts/${mail!.accountId}/mails`
    const { data } = await adminClient(stack, await stack.adminKey('viewer')).get<Page<SentMailView>>(path)
    expect(data).toMatchObject([{ id: mail!.id, recipient: 'nobody@example.test', outcome: 'refused' }])
  })
})

describe('free credit of verified addresses', () => {
  test('is given once a mailbox: to the account that verifies first', async () => {
    const first = consoleClient(stack.url)
    await first.json('/console/api/sign-up', { body: { email: 'twin@example.test', password: PASSWORD } })
    const second = consoleClient(stack.url)
    await second.json('/console/api/sign-up', { body: { email: 'twin+b@example.test', password: PASSWORD } })
    const [ofFirst = ''] = await catcher.tokens('twin@example.test')
    const [ofSecond = ''] = await catcher.tokens('twin+b@example.test')
    expect(await verified(ofSecond)).toEqual({ free_credit: 'granted' })
    expect(await verified(ofFirst)).toEqual({ free_credit: 'mailbox_used' })
    expect((await sessionOf(first)).balance.balance_usd).toBe('0.00')
  })

  test('stays within the budget of the hour, which accounts that never verify do not touch', async () => {
    const tight = await startStack({
      models: MODELS,
      environment: { ...mailEnvironment(), FREE_CREDIT_BUDGET_USD: '1.00' },
    })
    try {
      const clients = await Promise.all(Array.from({ length: 6 }, () => signedUp(tight.url)))
      const tokens = await Promise.all(
        clients.map(async ({ email }) => (await catcher.tokens(email))[0] ?? ''),
      )
      const outcomes = await Promise.all(tokens.slice(0, 4).map((token) => verified(token, tight.url)))
      expect(outcomes.map(({ free_credit }) => free_credit).sort()).toEqual([
        ...['budget_used', 'budget_used'],
        ...['granted', 'granted'],
      ])
    } finally {
      await tight.close()
    }
  })
})

describe('the settings of mail', () => {
  const read = (environment: Record<string, string>) =>
    readConfig({
      DATABASE_URL: 'postgresql://x/x',
      REDIS_URL: 'redis://x',
      MASTER_KEY: '0'.repeat(64),
      ...environment,
    }).mail

  test('mail is off by default', () => expect(read({})).toBeNull())

  test.each([
    ['an address that is no mail server', { SMTP_URL: 'https://user:hidden@mail.example' }, 'SMTP_URL'],
    ['no sender', { SMTP_URL: 'smtp://user:hidden@mail.example' }, 'MAIL_FROM'],
    [
      'no public address',
      { SMTP_URL: 'smtp://user:hidden@mail.example', MAIL_FROM: 'a@b.test' },
      'PUBLIC_URL',
    ],
    ['a sender without a server', { MAIL_FROM: 'a@b.test' }, 'MAIL_FROM'],
  ])('are refused with %s, and the password is not repeated', (_, environment, name) => {
    const attempt = () => read(environment)
    expect(attempt).toThrow(name)
    expect(attempt).not.toThrow('hidden')
  })
})
