import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { CreatedKey } from '../../../src/core/api/keys.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { consoleClient, PASSWORD, signedUp } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testStack } from '../../helpers/resources.ts'
import { startStack } from '../../helpers/stack.ts'
import { expectError } from '../wire.ts'

const stack = testStack()

const signIn = (email: string, password: string, url = stack.url) =>
  consoleClient(url).ask('/console/api/sign-in', { body: { email, password } })

describe('signing up', () => {
  test('opens an account with the free credit, in the ledger and on the screen', async () => {
    const client = consoleClient(stack.url)
    const response = await client.ask('/console/api/sign-up', {
      body: { email: ' New.Holder@Example.test ', password: PASSWORD },
    })
    expect(response.status).toBe(201)
    const { account, balance } = (await response.json()) as SessionView
    expect(account).toMatchObject({
      name: 'new.holder@example.test',
      state: 'free_credit',
      free_credit_usd: '0.50',
    })
    expect(balance).toEqual({
      balance_usd: '0.50',
      available_usd: '0.50',
      held_usd: '0.00',
      owed_usd: '0.00',
      low_balance_usd: '1.00',
    })
    const entries = await stack.postgres.ledgerEntry.findMany({ where: { transactionId: account.id } })
    expect(entries.map((entry) => entry.amountPico).sort()).toEqual(
      [-500_000_000_000n, 500_000_000_000n].sort(),
    )
    expect(await client.json<SessionView>('/console/api/session')).toMatchObject({ account, balance })
  })

  test('never takes over an account that exists, however its email is capitalized', async () => {
    const made = await stack.command('admin', 'account', 'create', '--email', 'Made.By@Operator.test')
    expect(made.code).toBe(0)
    const taken = await consoleClient(stack.url).ask('/console/api/sign-up', {
      body: { email: 'made.by@operator.test', password: PASSWORD },
    })
    expect((await expectError(taken, 409, 'email_taken')).param).toBe('email')
    await expectError(await signIn('made.by@operator.test', PASSWORD), 401, 'invalid_credentials')
  })

  test('opens one account when the same email comes many times at once', async () => {
    const body = { email: 'at-once@example.test', password: PASSWORD }
    const all = await Promise.all(
      Array.from({ length: 5 }, () => consoleClient(stack.url).ask('/console/api/sign-up', { body })),
    )
    expect(all.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409])
    expect(await stack.postgres.account.count({ where: { email: body.email } })).toBe(1)
  })

  test.each([
    ['a short password', { email: 'a@example.test', password: 'too short' }, 'password'],
    ['a password of few characters', { email: 'a@example.test', password: 'aaaaaaaaaaaaaa' }, 'password'],
    ['the email as password', { email: 'abcdef@example.test', password: 'abcdef@example.test' }, 'password'],
    ['no email', { email: 'nobody', password: PASSWORD }, 'email'],
    ['an unknown field', { email: 'a@example.test', password: PASSWORD, credit: '100' }, 'credit'],
  ])('refuses %s, and says which field', async (_, body, param) => {
    const response = await consoleClient(stack.url).ask('/console/api/sign-up', { body })
    expect((await expectError(response, 400, 'invalid_request')).param).toBe(param)
  })

  test('keeps passwords as Argon2id hashes, and sessions as hashes of their tokens', async () => {
    const client = await signedUp(stack.url)
    const { account } = await client.json<SessionView>('/console/api/session')
    const credential = await stack.postgres.accountCredential.findUniqueOrThrow({
      where: { accountId: account.id },
    })
    expect(credential.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    const token = client.cookies.get('shuntyard_session')!
    const sessions = await stack.postgres.consoleSession.findMany({ where: { accountId: account.id } })
    expect(sessions).toHaveLength(1)
    expect(Buffer.from(sessions[0]!.tokenHash).toString('base64url')).not.toBe(token)
  })
})

describe('signing in and out', () => {
  test('gives a cookie that no script reads and no other site sends', async () => {
    const { email } = await signedUp(stack.url)
    const response = await signIn(email.toUpperCase(), PASSWORD)
    expect(response.status).toBe(200)
    const [cookie = ''] = response.headers.getSetCookie()
    expect(cookie).toMatch(/^shuntyard_session=[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/)
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('answers a wrong password and an unknown email alike', async () => {
    const { email } = await signedUp(stack.url)
    const wrong = await expectError(await signIn(email, 'another password'), 401, 'invalid_credentials')
    const unknown = await expectError(
      await signIn('nobody@example.test', 'another password'),
      401,
      'invalid_credentials',
    )
    expect({ ...wrong, request_id: '' }).toEqual({ ...unknown, request_id: '' })
  })

  test('ends the session for good: a copy of its cookie opens nothing', async () => {
    const client = await signedUp(stack.url)
    const copy = consoleClient(stack.url)
    for (const [name, value] of client.cookies) copy.cookies.set(name, value)
    expect((await copy.ask('/console/api/session')).status).toBe(200)
    expect((await client.ask('/console/api/sign-out', { method: 'POST' })).status).toBe(204)
    expect(client.cookies.size).toBe(0)
    await expectError(await copy.ask('/console/api/session'), 401, 'not_signed_in')
    expect((await client.ask('/console/api/sign-out', { method: 'POST' })).status).toBe(204)
  })

  test('a forged or made-up token opens nothing', async () => {
    const client = consoleClient(stack.url)
    for (const token of ['x', 'A'.repeat(43), '%00', `${'A'.repeat(42)}=`]) {
      client.cookies.set('shuntyard_session', token)
      await expectError(await client.ask('/console/api/session'), 401, 'not_signed_in')
    }
  })

  test('ends with its time', async () => {
    const client = await signedUp(stack.url)
    await stack.postgres.consoleSession.updateMany({ data: { expiresAt: new Date(Date.now() - 1) } })
    await expectError(await client.ask('/console/api/session'), 401, 'not_signed_in')
  })

  test('lets a suspended account neither stay nor come back, until it is resumed', async () => {
    const client = await signedUp(stack.url)
    await stack.command('admin', 'account', 'suspend', client.email)
    await expectError(await client.ask('/console/api/session'), 401, 'not_signed_in')
    await expectError(await signIn(client.email, PASSWORD), 403, 'account_suspended')
    await expectError(await signIn(client.email, 'another password'), 401, 'invalid_credentials')
    await stack.command('admin', 'account', 'resume', client.email)
    expect((await signIn(client.email, PASSWORD)).status).toBe(200)
  })

  test('refuses further attempts on one email, right ones too, and lets others in', async () => {
    const { email } = await signedUp(stack.url)
    const other = await signedUp(stack.url)
    for (let attempt = 0; attempt < 10; attempt++) {
      await expectError(await signIn(email, 'another password'), 401, 'invalid_credentials')
    }
    const refused = await signIn(email, PASSWORD)
    await expectError(refused, 429, 'rate_limit_exceeded')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await signIn(other.email, PASSWORD)).status).toBe(200)
  })

  test('lets its holder in from elsewhere while somebody guesses from one address', async () => {
    const behindProxy = await startStack({
      environment: { TRUSTED_PROXIES: '127.0.0.1', SIGN_INS_PER_EMAIL: '3' },
    })
    try {
      const { email } = await signedUp(behindProxy.url)
      const from = (address: string, password: string) =>
        consoleClient(behindProxy.url).ask('/console/api/sign-in', {
          body: { email, password },
          headers: { 'x-forwarded-for': address },
        })
      for (let attempt = 0; attempt < 3; attempt++) await from('203.0.113.7', 'another password')
      await expectError(await from('203.0.113.7', PASSWORD), 429, 'rate_limit_exceeded')
      expect((await from('203.0.113.8', PASSWORD)).status).toBe(200)

      // From many addresses they use up all attempts on the email, but none of the network that it signed up from.
      const holder = await signedUp(behindProxy.url)
      const guess = (address: string, password: string) =>
        consoleClient(behindProxy.url).ask('/console/api/sign-in', {
          body: { email: holder.email, password },
          headers: { 'x-forwarded-for': address },
        })
      for (let attempt = 0; attempt < 30; attempt++) await guess(`203.0.113.${100 + attempt}`, 'another one')
      await expectError(await guess('203.0.113.200', PASSWORD), 429, 'rate_limit_exceeded')
      expect((await guess('127.0.0.1', PASSWORD)).status).toBe(200)
    } finally {
      await behindProxy.close()
    }
  })

  test('answers 503 while Redis is away, rather than let anybody guess', async () => {
    const lonely = await startStack()
    try {
      await lonely.redisServer.kill()
      const response = await signIn('nobody@example.test', PASSWORD, lonely.url)
      const { message } = await expectError(response, 503, 'overloaded')
      expect(message).toBe('The gateway cannot do this right now. Retry shortly.')
      await lonely.redisServer.restart()
      await eventually(async () =>
        expect((await signIn('nobody@example.test', PASSWORD, lonely.url)).status).toBe(401),
      )
    } finally {
      await lonely.close()
    }
  })
})

describe('changing the password', () => {
  test('leaves no session of the old password, however many sign in with it at that moment', async () => {
    for (let round = 0; round < 4; round++) {
      const client = await signedUp(stack.url)
      const next = `signals and sidings ${round}`
      const old = Array.from({ length: 6 }, async (_, index) => {
        await delay(index * 12)
        const browser = consoleClient(stack.url)
        await browser.ask('/console/api/sign-in', { body: { email: client.email, password: PASSWORD } })
        return browser
      })
      await delay(20)
      const changed = await client.ask('/console/api/password', {
        body: { current_password: PASSWORD, new_password: next },
      })
      expect(changed.status).toBe(204)
      const browsers = await Promise.all(old)
      const statuses = await Promise.all(
        browsers.map(async (browser) => (await browser.ask('/console/api/session')).status),
      )
      expect(statuses).toEqual(Array(6).fill(401))
      expect((await client.ask('/console/api/session')).status).toBe(200)
    }
  })

  test('ends every other session and keeps this one', async () => {
    const client = await signedUp(stack.url)
    const elsewhere = consoleClient(stack.url)
    await elsewhere.json('/console/api/sign-in', { body: { email: client.email, password: PASSWORD } })
    const before = client.cookies.get('shuntyard_session')
    const changed = await client.ask('/console/api/password', {
      body: { current_password: PASSWORD, new_password: 'signals and sidings' },
    })
    expect(changed.status).toBe(204)
    expect(client.cookies.get('shuntyard_session')).not.toBe(before)
    expect((await client.ask('/console/api/session')).status).toBe(200)
    await expectError(await elsewhere.ask('/console/api/session'), 401, 'not_signed_in')
    await expectError(await signIn(client.email, PASSWORD), 401, 'invalid_credentials')
    expect((await signIn(client.email, 'signals and sidings')).status).toBe(200)
  })

  test('wants the current one, and bounds how often a wrong one is tried', async () => {
    const client = await signedUp(stack.url)
    const attempt = () =>
      client.ask('/console/api/password', {
        body: { current_password: 'not the current one', new_password: 'signals and sidings' },
      })
    const refused = await expectError(await attempt(), 400, 'invalid_request')
    expect(refused.param).toBe('current_password')
    for (let count = 0; count < 9; count++) await attempt()
    await expectError(await attempt(), 429, 'rate_limit_exceeded')
  })

  test('by the operator gives a made account a way in, and ends its sessions', async () => {
    const client = await signedUp(stack.url)
    const { code, json } = await stack.command('admin', 'account', 'set-password', client.email)
    expect(code).toBe(0)
    await expectError(await client.ask('/console/api/session'), 401, 'not_signed_in')
    expect((await signIn(client.email, json.password as string)).status).toBe(200)
    await expectError(await signIn(client.email, PASSWORD), 401, 'invalid_credentials')
  })
})

describe('requests from other sites', () => {
  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a sibling host', { 'sec-fetch-site': 'same-site' }],
    ['an address bar', { 'sec-fetch-site': 'none' }],
    ['another origin, in an older browser', { 'sec-fetch-site': '', origin: 'https://evil.example' }],
    [
      'our host by another scheme, in an older browser',
      { 'sec-fetch-site': '', origin: () => stack.url.replace('http:', 'https:') },
    ],
    ['no origin at all', { 'sec-fetch-site': '', origin: '' }],
    ['the origin null', { 'sec-fetch-site': '', origin: 'null' }],
  ])('%s changes nothing', async (_, headers) => {
    const client = await signedUp(stack.url)
    const sent: Record<string, string> = {
      cookie: `shuntyard_session=${client.cookies.get('shuntyard_session')}`,
    }
    for (const [name, given] of Object.entries(headers)) {
      const value = typeof given === 'function' ? given() : given
      if (value !== '') sent[name] = value
    }
    for (const path of [
      'sign-out',
      'sign-in',
      'sign-up',
      'password',
      'keys',
      'top-ups',
      'webhooks',
      'playground/chat-completions?key_id=key_none',
    ]) {
      const response = await fetch(`${stack.url}/console/api/${path}`, {
        method: 'POST',
        headers: { ...sent, 'content-type': 'application/json' },
        body: '{}',
      })
      await expectError(response, 403, 'not_permitted')
    }
    expect((await client.ask('/console/api/session')).status).toBe(200)
  })

  test('bodies are short, but for the playground', async () => {
    const body = { email: 'a@example.test', password: 'x'.repeat(20_000) }
    await expectError(
      await consoleClient(stack.url).ask('/console/api/sign-in', { body }),
      413,
      'request_too_large',
    )
    const client = await signedUp(stack.url)
    const { key } = await client.json<CreatedKey>('/console/api/keys', { body: { name: 'playground' } })
    const long = { model: 'test/none', messages: [{ role: 'user', content: 'x'.repeat(20_000) }] }
    const playground = `/console/api/playground/chat-completions?key_id=${key.id}`
    await expectError(await client.ask(playground, { body: long }), 404, 'model_not_found')
  })

  test('a form cannot be posted, not even from our own pages', async () => {
    const client = await signedUp(stack.url)
    const response = await client.ask('/console/api/keys', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    await expectError(response, 415, 'unsupported_media_type')
  })

  test('an older browser that names our own origin is let through', async () => {
    const client = await signedUp(stack.url)
    const response = await fetch(`${stack.url}/console/api/sign-out`, {
      method: 'POST',
      headers: {
        origin: stack.url,
        cookie: `shuntyard_session=${client.cookies.get('shuntyard_session')}`,
      },
    })
    expect(response.status).toBe(204)
  })
})

test('a page learns in one request who is signed in, if anyone, and what the gateway is', async () => {
  const nobody = consoleClient(stack.url)
  expect(await nobody.json('/console/api/visitor')).toEqual({
    session: null,
    gateway: {
      answers: 'real',
      mail: 'none',
      providers: [],
      provider_status: false,
      free_credit_usd: '0.50',
      catalog: { models: 1, developers: 1 },
    },
    invitations: [],
  })
  const client = await signedUp(stack.url)
  const { session } = await client.json<{ session: unknown }>('/console/api/visitor')
  expect(session).toEqual(await client.json('/console/api/session'))
  const copy = consoleClient(stack.url)
  for (const [name, value] of client.cookies) copy.cookies.set(name, value)
  await client.ask('/console/api/sign-out', { body: {} })
  expect(await copy.json('/console/api/visitor')).toMatchObject({ session: null })
})

test('every route but signing up, in and out, who is there, and what the gateway is, wants a session', async () => {
  const paths = [
    'session',
    'keys',
    'billing',
    'top-ups',
    'top-ups/pay_1',
    'ledger',
    'usage',
    'usage/series',
    'usage/series.csv',
    'models/test%2Fone/providers',
    'calls',
    'calls.csv',
    'calls/chatcmpl_1',
    'provider-keys',
    'webhooks',
    'webhooks/hook_1/deliveries',
    'live',
  ]
  for (const path of paths) {
    await expectError(await consoleClient(stack.url).ask(`/console/api/${path}`), 401, 'not_signed_in')
  }
})
