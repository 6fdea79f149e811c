import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/config.ts'
import type { OperatorRole } from '../../../src/core/accounts/operator-permissions.ts'
import type { RedirectView } from '../../../src/core/api/identities.ts'
import type { OperatorSession } from '../../../src/core/api/sessions.ts'
import { type ConsoleClient, consoleClient } from '../../helpers/console-client.ts'
import {
  type LocalUser,
  startClaimsProvider,
  startOidcProvider,
  visitProvider,
} from '../../helpers/local-sign-in-services.ts'
import { startStack, type TestStack } from '../../helpers/stack.ts'
import { expectError } from '../wire.ts'

/** The way back leads here; the stack listens elsewhere, and gets the same path. */
const SITE_PORT = 65_001
const CALLBACK = '/admin/api/sso/callback'
const SESSION = '/admin/api/session'
const PREFIX = 'OPERATOR_OIDC'
const MODELS = { 'test/one': [{ at: 'alpha' as const, model: 'words-12' }] }

const someone = (facts: Partial<LocalUser> = {}): LocalUser => {
  const sub = randomBytes(6).toString('hex')
  return { sub, email: `${sub}@company.test`, email_verified: true, ...facts }
}

const begin = async (client: ConsoleClient, body: object = {}) =>
  (await client.json<RedirectView>('/admin/api/sso', { body })).url
const comeBack = async (client: ConsoleClient, path: string) => {
  const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  const response = await client.ask(path, { headers })
  expect(response.status).toBe(302)
  return response.headers.get('location')
}

/** Adds an operator for a user of the provider, by the command line. */
async function add(stack: TestStack, { email }: LocalUser, role: OperatorRole = 'support') {
  const args = ['operator', 'add', '--name', email, '--email', email, '--role', role]
  const { code, json } = await stack.command('admin', ...args)
  expect(code).toBe(0)
  return json.operator_id as string
}

describe('single sign-on of operators', () => {
  let stack: TestStack
  let oidc: Awaited<ReturnType<typeof startOidcProvider>>

  beforeAll(async () => {
    oidc = await startOidcProvider(SITE_PORT, { prefix: PREFIX, callback: CALLBACK })
    stack = await startStack({
      models: MODELS,
      environment: {
        ...oidc.environment,
        OPERATOR_OIDC_NAME: 'Yard ID',
        PUBLIC_URL: `http://127.0.0.1:${SITE_PORT}`,
      },
    })
  })
  afterAll(async () => {
    await stack?.close()
    await oidc?.close()
  })

  async function signIn(user: LocalUser, body: object = {}, client = consoleClient(stack.url)) {
    oidc.become(user)
    const path = await visitProvider(await begin(client, body), SITE_PORT)
    return { client, location: await comeBack(client, path) }
  }
  const expectNobody = async ({ client, location }: Awaited<ReturnType<typeof signIn>>, problem: string) => {
    expect(location).toBe(`/admin/sign-in?problem=${problem}`)
    await expectError(await client.ask(SESSION), 401, 'not_signed_in')
  }

  test('single sign-on signs in added operators with their role for twelve hours', async () => {
    const user = someone()
    const id = await add(stack, { ...user, email: user.email.toUpperCase() })
    expect(await consoleClient(stack.url).json('/admin/api/visitor')).toEqual({
      session: null,
      single_sign_on: 'Yard ID',
      admin_keys: true,
    })
    const { client, location } = await signIn(user, { next: '/admin/accounts?search=a' })
    expect(location).toBe('/admin/accounts?search=a')
    const session = await client.json<OperatorSession>(SESSION)
    expect(session).toMatchObject({ operator_id: id, role: 'support', key_id: null, hint: null })
    expect(session.permissions['operations.write']).toContain(session.role)
    expect(session.permissions['catalog.write']).not.toContain(session.role)
    expect(client.cookies.has('shuntyard_operator_sso')).toBe(false)
    expect((await client.ask('/admin/queues/api/queues')).status).toBe(200)
    const refused = await client.ask('/admin/api/accounts/x/credit', { body: { amount_usd: '1.00' } })
    await expectError(refused, 403, 'not_permitted')
  })

  test('knows an operator by the id of the provider from the first sign-in on', async () => {
    const user = someone()
    const id = await add(stack, user)
    await signIn(user)
    const moved = await signIn({ ...user, email: 'moved@company.test' })
    expect(await moved.client.json(SESSION)).toMatchObject({ operator_id: id })
    // Somebody else who has the address now.
    await expectNobody(await signIn(someone({ email: user.email })), 'unknown_operator')
  })

  test('single sign-on rejects people who were not added, are disabled or have an unverified address', async () => {
    await expectNobody(await signIn(someone()), 'unknown_operator')
    const unverified = someone({ email_verified: false })
    await add(stack, unverified)
    await expectNobody(await signIn(unverified), 'email_not_verified')
    const disabled = someone()
    await stack.command('admin', 'operator', 'disable', await add(stack, disabled))
    await expectNobody(await signIn(disabled), 'operator_disabled')
  })

  test('disabling an operator ends their sessions at once, and for good', async () => {
    const user = someone()
    const id = await add(stack, user)
    const { client } = await signIn(user)
    const stream = await client.ask('/admin/api/live')
    expect(stream.status).toBe(200)
    const ended = stream.text().catch(() => 'broken')
    await stack.command('admin', 'operator', 'disable', id)
    await expectError(await client.ask(SESSION), 401, 'not_signed_in')
    expect((await client.ask('/admin/queues/api/queues')).status).toBe(401)
    // The live stream that was open ends too.
    expect(await ended).toBeDefined()
    await stack.command('admin', 'operator', 'enable', id)
    await expectError(await client.ask(SESSION), 401, 'not_signed_in')
    expect((await signIn(user)).location).toBe('/admin')
  })

  test('an address that changed hands signs in the operator who has it now', async () => {
    const [former, present] = [someone(), someone()]
    const formerId = await add(stack, former)
    await signIn(former)
    await stack.command('admin', 'operator', 'disable', formerId)
    const heir = { ...present, email: former.email }
    const id = await add(stack, heir, 'viewer')
    expect(await (await signIn(heir)).client.json(SESSION)).toMatchObject({ operator_id: id, role: 'viewer' })
    // The former one cannot come back while another has the address.
    expect(await stack.command('admin', 'operator', 'enable', formerId)).toMatchObject({ code: 1 })
  })

  test('takes the way back once, in the browser that began', async () => {
    const user = someone()
    await add(stack, user)
    oidc.become(user)
    const [mine, other] = [consoleClient(stack.url), consoleClient(stack.url)]
    const back = await visitProvider(await begin(mine), SITE_PORT)
    const failed = '/admin/sign-in?problem=failed'
    expect(await comeBack(consoleClient(stack.url), back)).toBe(failed)
    await begin(other)
    expect(await comeBack(other, back)).toBe(failed)
    const token = mine.cookies.get('shuntyard_operator_sso')!
    expect(await comeBack(mine, back)).toBe('/admin')
    mine.cookies.set('shuntyard_operator_sso', token)
    expect(await comeBack(mine, back)).toBe(failed)
  })

  test('is begun by our own pages only, and leads to operators’ pages only', async () => {
    const client = consoleClient(stack.url)
    const foreign = { body: {}, headers: { 'sec-fetch-site': 'cross-site' } }
    await expectError(await client.ask('/admin/api/sso', foreign), 403, 'not_permitted')
    expect((await client.ask('/admin/api/sso', { body: { next: '//evil.example' } })).status).toBe(400)
    const user = someone()
    await add(stack, user)
    expect((await signIn(user, { next: '/dashboard' })).location).toBe('/admin')
  })
})

describe('ID tokens', () => {
  let stack: TestStack
  let provider: Awaited<ReturnType<typeof startClaimsProvider>>

  beforeAll(async () => {
    provider = await startClaimsProvider(PREFIX)
    stack = await startStack({
      models: MODELS,
      environment: { ...provider.environment, OPERATOR_SSO_ONLY: 'true' },
    })
  })
  afterAll(async () => {
    await stack?.close()
    await provider?.close()
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['of this client', {}, '/admin'],
    ['of another audience', { aud: 'another client' }, '/admin/sign-in?problem=failed'],
    ['of another issuer', { iss: 'https://evil.example' }, '/admin/sign-in?problem=failed'],
    ['of another sign-in', { nonce: 'of another sign-in' }, '/admin/sign-in?problem=failed'],
    ['that has expired', { exp: Math.floor(Date.now() / 1000) - 3_600 }, '/admin/sign-in?problem=failed'],
    [
      'whose address is verified in words only',
      { email_verified: 'true' },
      '/admin/sign-in?problem=email_not_verified',
    ],
  ])('one %s', async (_name, changes, location) => {
    const user = someone()
    await add(stack, user)
    const client = consoleClient(stack.url)
    const query = provider.back(await begin(client), user, changes)
    expect(await comeBack(client, CALLBACK + query)).toBe(location)
    expect((await client.ask(SESSION)).status).toBe(location === '/admin' ? 200 : 401)
  })

  test('one signed by a key that is not the provider’s', async () => {
    const user = someone()
    await add(stack, user)
    const client = consoleClient(stack.url)
    const query = provider.back(await begin(client), user, {}, true)
    expect(await comeBack(client, CALLBACK + query)).toBe('/admin/sign-in?problem=failed')
  })

  test('one whose address becomes another by normalizing', async () => {
    const user = someone()
    await add(stack, user)
    const client = consoleClient(stack.url)
    const query = provider.back(await begin(client), user, { email: user.email.replace('@', '＠') })
    expect(await comeBack(client, CALLBACK + query)).toBe('/admin/sign-in?problem=email_not_verified')
  })

  test('admin keys are bearer tokens only where single sign-on alone signs in', async () => {
    const key = await stack.adminKey()
    const client = consoleClient(stack.url)
    expect(await client.json('/admin/api/visitor')).toMatchObject({ admin_keys: false })
    await expectError(await client.ask(SESSION, { body: { admin_key: key } }), 403, 'not_permitted')
    const basic = { authorization: `Basic ${btoa(`operator:${key}`)}` }
    const asked = await fetch(`${stack.url}/admin/api/processes`, { headers: basic })
    expect(asked.status).toBe(401)
    expect(asked.headers.get('www-authenticate')).toBe('Bearer')
    const bearer = { authorization: `Bearer ${key}` }
    expect((await fetch(`${stack.url}/admin/api/processes`, { headers: bearer })).status).toBe(200)
  })
})

test('its settings go together', () => {
  const services = { DATABASE_URL: 'postgresql://x/y', REDIS_URL: 'redis://x', MASTER_KEY: '0'.repeat(64) }
  const wrong = [
    { OPERATOR_SSO_ONLY: 'true' },
    { OPERATOR_OIDC_ISSUER: 'https://id.example' },
    { OPERATOR_OIDC_CLIENT_ID: 'a', OPERATOR_OIDC_CLIENT_SECRET: 'b' },
    {
      OPERATOR_OIDC_ISSUER: 'http://id.example',
      OPERATOR_OIDC_CLIENT_ID: 'a',
      OPERATOR_OIDC_CLIENT_SECRET: 'b',
    },
  ]
  for (const environment of wrong)
    expect(() => readConfig({ ...services, ...environment })).toThrow(/OPERATOR_/)
})
