import { describe, expect, test } from 'vitest'
import type { CreatedKey } from '../../../src/core/api/keys.ts'
import type { SessionList, SessionView } from '../../../src/core/api/sessions.ts'
import { newId } from '../../../src/core/kernel/ids.ts'
import { type ConsoleClient, consoleClient, PASSWORD, signedUp } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { expectAbsent } from '../../helpers/everything-stored.ts'
import { getAs } from '../../helpers/requests.ts'
import { testMailCatcher, testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const NEXT_PASSWORD = 'switches and signals'

const catcher = testMailCatcher()
const stack = testStack(() => ({
  environment: {
    ...catcher.environment,
    PUBLIC_URL: 'https://gateway.example',
  },
}))

const signIn = (email: string, password: string, headers: Record<string, string> = {}) => {
  const client = consoleClient(stack.url)
  return client
    .ask('/console/api/sign-in', { body: { email, password }, headers })
    .then((response) => ({ client, response }))
}
const askReset = (email: string) =>
  consoleClient(stack.url).ask('/console/api/password-resets', { body: { email } })
const useReset = (token: string, password = NEXT_PASSWORD) =>
  consoleClient(stack.url).ask('/console/api/password-resets/use', { body: { token, password } })
const sessionOf = (client: ConsoleClient) => client.json<SessionView>('/console/api/session')

async function verified() {
  const client = await signedUp(stack.url)
  const [token = ''] = await catcher.tokens(client.email)
  await client.json('/console/api/verify', { body: { token } })
  const { account } = await sessionOf(client)
  return { client, email: client.email, accountId: account.id }
}

const subjectsTo = (email: string) =>
  catcher.received
    .filter(({ to }) => to.includes(email))
    .map(({ content }) => /^Subject: (.*)\r$/m.exec(content)?.[1])

/** A provider key and a webhook of an account, which show its prompts and events to whoever added them. */
async function addWaysOut(accountId: string) {
  const secretSealed = 'sealed'
  const key = { id: newId('pkey'), accountId, providerId: 'alpha', secretSealed, last4: '0000' }
  await stack.postgres.providerKey.create({ data: key })
  const endpoint = { id: newId('hook'), accountId, url: 'https://hook.example.test', secretSealed }
  await stack.postgres.webhookEndpoint.create({ data: endpoint })
}

const waysOut = async (accountId: string) => [
  await stack.postgres.providerKey.count({ where: { accountId } }),
  await stack.postgres.webhookEndpoint.count({ where: { accountId } }),
]

describe('a password that was forgotten', () => {
  test('is reset by the link of a message, which works once and ends every session', async () => {
    const { client, email } = await verified()
    expect((await askReset(email.toUpperCase())).status).toBe(202)
    const [token = ''] = await catcher.tokens(email, 1, 'reset')
    expect((await useReset(token)).status).toBe(200)
    await expectError(await client.ask('/console/api/session'), 401, 'not_signed_in')
    await expectError((await signIn(email, PASSWORD)).response, 401, 'invalid_credentials')
    expect((await signIn(email, NEXT_PASSWORD)).response.status).toBe(200)
    await expectError(await useReset(token, 'yet another password'), 400, 'invalid_request')
    expect((await signIn(email, NEXT_PASSWORD)).response.status).toBe(200)
    await eventually(() => expect(subjectsTo(email)).toContain('Your sign-in was changed'))
  })

  test('takes back an account that somebody else opened with the address, and everything they left in it', async () => {
    const squatter = await signedUp(stack.url)
    const { email } = squatter
    const { account } = await sessionOf(squatter)
    const { secret } = await squatter.json<CreatedKey>('/console/api/keys', { body: { name: 'left behind' } })
    const confirmed = { body: { current_password: PASSWORD } }
    for (const path of ['second-factor/totp', 'second-factor/passkey-options']) {
      const refused = await squatter.ask(`/console/api/${path}`, confirmed)
      expect((await expectError(refused, 403, 'not_permitted')).message).toContain('Verify your email')
    }
    // Linked by a release that did not ask for the verified address.
    const data = {
      provider: 'oidc',
      subject: 'squatter',
      email: 'squatter@example.test',
      accountId: account.id,
    }
    await stack.postgres.identity.create({ data })
    await addWaysOut(account.id)

    await askReset(email)
    const [token = ''] = await catcher.tokens(email, 1, 'reset')
    const response = await useReset(token)
    expect(await response.json()).toEqual({ identities: [], passkeys: 0, api_keys: 0 })
    expect(await waysOut(account.id)).toEqual([0, 0])
    expect(await stack.postgres.identity.count({ where: { accountId: account.id } })).toBe(0)
    await eventually(async () => {
      const called = await getAs(secret, `${stack.url}/v1/key`)
      await expectError(called, 403, 'key_revoked')
    })
  })

  test('of a verified account leaves its other ways in, and names them', async () => {
    const { client, email, accountId } = await verified()
    await client.json<CreatedKey>('/console/api/keys', { body: { name: 'app' } })
    const data = { provider: 'oidc', subject: email, email, accountId }
    await stack.postgres.identity.create({ data })
    await addWaysOut(accountId)
    await askReset(email)
    const response = await useReset((await catcher.tokens(email, 1, 'reset'))[0]!)
    expect(await response.json()).toEqual({ identities: ['oidc'], passkeys: 0, api_keys: 1 })
    expect(await waysOut(accountId)).toEqual([1, 1])
  })

  test('is set for an account that the operator opened without one', async () => {
    await stack.command('admin', 'account', 'create', '--email', 'opened@operator.test')
    await askReset('opened@operator.test')
    const [token = ''] = await catcher.tokens('opened@operator.test', 1, 'reset')
    expect((await useReset(token)).status).toBe(200)
    expect((await signIn('opened@operator.test', NEXT_PASSWORD)).response.status).toBe(200)
  })

  test('a password reset answers alike for known and unknown emails', async () => {
    const { email } = await verified()
    const [known, unknown] = [await askReset(email), await askReset('nobody-here@example.test')]
    expect([known.status, await known.text()]).toEqual([unknown.status, await unknown.text()])
    await catcher.tokens(email, 1, 'reset')
    expect(subjectsTo('nobody-here@example.test')).toEqual([])
  })

  test('messages are limited, alike for emails without an account', async () => {
    const { email } = await verified()
    for (const address of [email, 'nobody-at-all@example.test']) {
      for (let count = 0; count < 5; count++) expect((await askReset(address)).status).toBe(202)
      await expectError(await askReset(address), 429, 'rate_limit_exceeded')
    }
  })

  test('a link is valid for an hour, is stored as a hash, and opens nothing else', async () => {
    const { email, accountId } = await verified()
    await askReset(email)
    const [token = ''] = await catcher.tokens(email, 1, 'reset')
    const row = await stack.postgres.emailToken.findFirstOrThrow({ where: { accountId } })
    const minutes = (row.expiresAt.getTime() - Date.now()) / 60_000
    expect(minutes).toBeGreaterThan(59)
    expect(minutes).toBeLessThanOrEqual(60)
    const rows = await stack.postgres.$queryRaw<{ row: string }[]>`SELECT t::text AS row FROM email_tokens t`
    expectAbsent(rows.map(({ row: text }) => text).join('\n'), [token], 'email_tokens')
    for (const path of ['/console/api/verify', '/console/api/email-changes/confirm'])
      await expectError(await consoleClient(stack.url).ask(path, { body: { token } }), 400, 'invalid_request')
    await stack.postgres.emailToken.updateMany({ where: { accountId }, data: { expiresAt: new Date(0) } })
    await expectError(await useReset(token), 400, 'invalid_request')
    expect((await signIn(email, PASSWORD)).response.status).toBe(200)
  })

  test('a link used many times at once sets one password', async () => {
    const { email } = await verified()
    await askReset(email)
    const [token = ''] = await catcher.tokens(email, 1, 'reset')
    const all = await Promise.all(
      Array.from({ length: 5 }, (_, at) => useReset(token, `password number ${at}`)),
    )
    expect(all.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400])
  })

  test('a weak new password is refused and leaves the link; another site cannot use it', async () => {
    const { email } = await verified()
    await askReset(email)
    const [token = ''] = await catcher.tokens(email, 1, 'reset')
    expect((await expectError(await useReset(token, 'short'), 400, 'invalid_request')).param).toBe('password')
    expect((await expectError(await useReset(token, email), 400, 'invalid_request')).param).toBe('password')
    const foreign = await consoleClient(stack.url).ask('/console/api/password-resets/use', {
      body: { token, password: NEXT_PASSWORD },
      headers: { 'sec-fetch-site': 'cross-site' },
    })
    await expectError(foreign, 403, 'not_permitted')
    expect((await useReset(token)).status).toBe(200)
  })

  test('a suspended account gets no link, and one from before does not work', async () => {
    const { email } = await verified()
    await askReset(email)
    const [token = ''] = await catcher.tokens(email, 1, 'reset')
    await stack.command('admin', 'account', 'suspend', email)
    await expectError(await useReset(token), 400, 'invalid_request')
    expect((await askReset(email)).status).toBe(202)
    await eventually(async () => expect(await stack.redis.keys('*:mail:reset_password-*')).toEqual([]))
    expect(await catcher.tokens(email, 1, 'reset')).toHaveLength(1)
  })
})

describe('the email of an account', () => {
  const change = (client: ConsoleClient, email: string, password = PASSWORD) =>
    client.ask('/console/api/email-changes', { body: { email, current_password: password } })
  const confirm = (token: string) =>
    consoleClient(stack.url).ask('/console/api/email-changes/confirm', { body: { token } })

  test('an email changes once the new address confirms it, and the old address gets a message', async () => {
    const { client, email, accountId } = await verified()
    const next = `next-${email}`
    expect((await change(client, ` ${next.toUpperCase()} `)).status).toBe(202)
    const [token = ''] = await catcher.tokens(next, 1, 'email')
    expect((await sessionOf(client)).person.email).toBe(email)
    expect((await confirm(token)).status).toBe(204)
    const { person } = await sessionOf(client)
    expect(person).toMatchObject({ email: next, email_verified: true })
    expect((await signIn(next, PASSWORD)).response.status).toBe(200)
    await expectError((await signIn(email, PASSWORD)).response, 401, 'invalid_credentials')
    await eventually(async () => {
      expect(subjectsTo(email)).toContain('The email address of your account was changed')
      // The old address is kept for that message only.
      expect(await stack.postgres.emailChange.count({ where: { accountId } })).toBe(0)
    })
    await expectError(await confirm(token), 400, 'invalid_request')
  })

  test('takes the password again, with a limit on guesses', async () => {
    const { client, email } = await verified()
    const wrong = await expectError(
      await change(client, `a-${email}`, 'another password'),
      400,
      'invalid_request',
    )
    expect(wrong.param).toBe('current_password')
    for (let guess = 0; guess < 9; guess++) await change(client, `a-${email}`, 'another password')
    await expectError(await change(client, `a-${email}`), 429, 'rate_limit_exceeded')
  })

  test('is not one that has an account, when it is asked for and when it is confirmed', async () => {
    const { client, email } = await verified()
    const other = await signedUp(stack.url)
    await expectError(await change(client, other.email), 409, 'email_taken')
    const next = `late-${email}`
    await change(client, next)
    const [token = ''] = await catcher.tokens(next, 1, 'email')
    await consoleClient(stack.url).json('/console/api/sign-up', { body: { email: next, password: PASSWORD } })
    await expectError(await confirm(token), 409, 'email_taken')
    expect((await sessionOf(client)).person.email).toBe(email)
  })

  test('a later request, a new password and a confirmed change end links that were sent before', async () => {
    const { client, email } = await verified()
    await change(client, `one-${email}`)
    const [first = ''] = await catcher.tokens(`one-${email}`, 1, 'email')
    await change(client, `two-${email}`)
    const [second = ''] = await catcher.tokens(`two-${email}`, 1, 'email')
    await expectError(await confirm(first), 400, 'invalid_request')
    await client.ask('/console/api/password', {
      body: { current_password: PASSWORD, new_password: NEXT_PASSWORD },
    })
    await expectError(await confirm(second), 400, 'invalid_request')
    await askReset(email)
    const [reset = ''] = await catcher.tokens(email, 1, 'reset')
    await change(client, `three-${email}`, NEXT_PASSWORD)
    const [third = ''] = await catcher.tokens(`three-${email}`, 1, 'email')
    expect((await confirm(third)).status).toBe(204)
    await expectError(await useReset(reset), 400, 'invalid_request')
  })
})

describe('the sessions of an account', () => {
  const LINUX_FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

  test('are listed with their device, and each can be ended', async () => {
    const { client, email } = await verified()
    const { client: elsewhere } = await signIn(email, PASSWORD, { 'user-agent': LINUX_FIREFOX })
    const { data } = await client.json<SessionList>('/console/api/sessions')
    expect(data).toHaveLength(2)
    const other = data.find(({ current }) => !current)
    expect(other).toMatchObject({ device: 'Firefox on Linux', network_address: '127.0.0.1' })
    const text = JSON.stringify(data)
    for (const { cookies } of [client, elsewhere])
      expectAbsent(text, [...cookies.values()], 'the list of sessions')

    const stranger = await verified()
    const path = `/console/api/sessions/${other!.id}`
    await expectError(await stranger.client.ask(path, { method: 'DELETE' }), 404, 'not_found')
    expect((await elsewhere.ask('/console/api/session')).status).toBe(200)
    expect((await client.ask(path, { method: 'DELETE' })).status).toBe(204)
    await expectError(await elsewhere.ask('/console/api/session'), 401, 'not_signed_in')
    await expectError(await client.ask(path, { method: 'DELETE' }), 404, 'not_found')
    expect((await client.ask('/console/api/session')).status).toBe(200)
  })

  test('all others end at once, and those of other accounts stay', async () => {
    const { client, email } = await verified()
    const others = await Promise.all([1, 2].map(() => signIn(email, PASSWORD)))
    const stranger = await verified()
    expect((await client.ask('/console/api/sessions', { method: 'DELETE' })).status).toBe(204)
    for (const { client: other } of others)
      await expectError(await other.ask('/console/api/session'), 401, 'not_signed_in')
    expect((await client.ask('/console/api/session')).status).toBe(200)
    expect((await stranger.client.ask('/console/api/session')).status).toBe(200)
  })

  test('are ended from our own pages only', async () => {
    const { client } = await verified()
    const headers = { 'sec-fetch-site': 'cross-site' }
    await expectError(
      await client.ask('/console/api/sessions', { method: 'DELETE', headers }),
      403,
      'not_permitted',
    )
  })

  test('show when they were last used, to within minutes', async () => {
    const { client, accountId } = await verified()
    const hourAgo = new Date(Date.now() - 3_600_000)
    await stack.postgres.consoleSession.updateMany({ where: { accountId }, data: { lastUsedAt: hourAgo } })
    const { data } = await client.json<SessionList>('/console/api/sessions')
    expect(Date.now() - Date.parse(data[0]!.last_used_at)).toBeLessThan(60_000)
  })
})
