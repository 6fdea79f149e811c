import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setSignInRules } from '../../../src/accounts/identity/sign-in-rules.ts'
import { createOrganisationStore } from '../../../src/accounts/organisation/organisation-store.ts'
import { readConfig } from '../../../src/config.ts'
import type { IdentityList, RedirectView } from '../../../src/core/api/identities.ts'
import type { NewRecoveryCodes, NewTotp, SecondFactorAsked } from '../../../src/core/api/second-factor.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import { type ConsoleClient, consoleClient, PASSWORD, signedUp } from '../../helpers/console-client.ts'
import {
  type LocalUser,
  startGithub,
  startOidcProvider,
  visitProvider,
} from '../../helpers/local-sign-in-services.ts'
import { startStack, type TestStack } from '../../helpers/stack.ts'
import { codeOf } from '../../helpers/totp-code.ts'
import { expectError } from '../wire.ts'

const CONFIRMED = { current_password: PASSWORD }
/** The way back leads here; the stack listens elsewhere, and gets the same path. */
const SITE_PORT = 65_000

let stack: TestStack
let oidc: Awaited<ReturnType<typeof startOidcProvider>>
let github: Awaited<ReturnType<typeof startGithub>>

beforeAll(async () => {
  oidc = await startOidcProvider(SITE_PORT)
  github = await startGithub()
  stack = await startStack({
    environment: {
      ...oidc.environment,
      ...github.environment,
      PUBLIC_URL: `http://127.0.0.1:${SITE_PORT}`,
    },
  })
})
afterAll(async () => {
  await stack.close()
  await oidc.close()
  await github.close()
})

const someone = (facts: Partial<LocalUser> = {}): LocalUser => {
  const sub = randomBytes(6).toString('hex')
  return { sub, email: `${sub}@company.test`, email_verified: true, ...facts }
}

const visit = (url: string) => visitProvider(url, SITE_PORT)
const begin = (client: ConsoleClient, body: object = {}) =>
  client.json<RedirectView>('/console/api/oauth/oidc', { body })
const navigate = (client: ConsoleClient, path: string) =>
  client.ask(path, { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' } })
const sessionOf = (client: ConsoleClient) => client.json<SessionView>('/console/api/session')

/** Signs in as a user of the provider, and returns where the browser is led. */
async function signIn(user: LocalUser, client = consoleClient(stack.url), body: object = {}) {
  oidc.become(user)
  const { url } = await begin(client, body)
  const response = await navigate(client, await visit(url))
  expect(response.status).toBe(302)
  return { client, location: response.headers.get('location') ?? '' }
}

async function linked(client: ConsoleClient, user: LocalUser): Promise<string> {
  oidc.become(user)
  const { url } = await client.json<RedirectView>('/console/api/identities/oidc', { body: CONFIRMED })
  return (await navigate(client, await visit(url))).headers.get('location') ?? ''
}

const verify = (email: string) =>
  stack.postgres.account.update({ where: { email }, data: { emailVerifiedAt: new Date() } })

describe('signing in with an OpenID Connect provider', () => {
  test('opens an account with a verified address and the free credit, and signs in to it from then on', async () => {
    const user = someone()
    const first = await signIn(user, undefined, { next: '/keys?a=b' })
    expect(first.location).toBe('/keys?a=b')
    const { account, person, balance } = await sessionOf(first.client)
    expect(person).toMatchObject({ email: user.email, email_verified: true })
    expect(account).toMatchObject({ id: person.id, name: user.email, free_credit: 'granted' })
    expect(balance.available_usd).toBe('0.50')
    expect(first.client.cookies.has('shuntyard_oauth')).toBe(false)
    // The provider's id of its user counts, not the address.
    const again = await signIn({ ...user, email: 'moved@company.test' })
    expect(again.location).toBe('/dashboard')
    expect((await sessionOf(again.client)).account).toMatchObject({ id: account.id, name: user.email })
  })

  test('signs in to the account of an address that both verified', async () => {
    const holder = await signedUp(stack.url)
    await verify(holder.email)
    const { client } = await signIn(someone({ email: holder.email.toUpperCase() }))
    expect((await sessionOf(client)).person.email).toBe(holder.email)
  })

  test('adds, changes and ends memberships by groups and domain, and leaves those by invitation alone', async () => {
    const owner = await signedUp(stack.url)
    const { account } = await sessionOf(owner)
    const organisation = async (rules: object) => {
      const { id } = await createOrganisationStore(stack.postgres, picoUsd(0n)).create('Acme', account.id)
      await setSignInRules(stack.postgres, id, rules)
      return id
    }
    const byGroup = await organisation({ groups: { ml: 'developer', leads: 'admin' } })
    const byDomain = await organisation({ domain: 'company.test', domain_role: 'billing' })
    const user = someone({ groups: ['ml', 'constructor'] })
    const rolesAfter = async (groups: string[], more: Partial<LocalUser> = {}) => {
      const { client } = await signIn({ ...user, ...more, groups })
      const { person } = await sessionOf(client)
      const found = await stack.postgres.organisationMember.findMany({ where: { personId: person.id } })
      return Object.fromEntries(found.map(({ accountId, role }) => [accountId, role]))
    }
    expect(await rolesAfter(['ml', 'constructor'])).toEqual({ [byGroup]: 'developer', [byDomain]: 'billing' })
    expect(await rolesAfter(['ml', 'leads'])).toEqual({ [byGroup]: 'admin', [byDomain]: 'billing' })
    expect(await rolesAfter([], { email_verified: false })).toEqual({})
    const { id: personId } = await stack.postgres.account.findUniqueOrThrow({ where: { email: user.email } })
    await stack.postgres.organisationMember.create({
      data: { accountId: byGroup, personId, role: 'billing' },
    })
    expect(await rolesAfter(['leads'])).toEqual({ [byGroup]: 'billing', [byDomain]: 'billing' })
    const actions = await stack.postgres.accountAction.findMany({ where: { accountId: byGroup } })
    expect(actions.map(({ action }) => action)).toEqual([
      'member.joined',
      'member.role_changed',
      'member.removed',
    ])
  })

  test('does not share an account that somebody opened with an address they never verified', async () => {
    const holder = await signedUp(stack.url)
    const { client, location } = await signIn(someone({ email: holder.email }))
    expect(location).toBe('/sign-in?problem=email_taken')
    await expectError(await client.ask('/console/api/session'), 401, 'not_signed_in')
  })

  test('believes no address that the provider did not verify', async () => {
    const holder = await signedUp(stack.url)
    await verify(holder.email)
    for (const email of [holder.email, 'unverified@company.test']) {
      const { location } = await signIn(someone({ email, email_verified: false }))
      expect(location).toBe('/sign-in?problem=email_not_verified')
    }
    expect(await stack.postgres.account.count({ where: { email: 'unverified@company.test' } })).toBe(0)
  })

  test('does not take an address for one that it only becomes by normalizing', async () => {
    const holder = await signedUp(stack.url)
    await verify(holder.email)
    const fullWidth = String.fromCodePoint(holder.email.codePointAt(0)! + 0xfee0) + holder.email.slice(1)
    expect(fullWidth.normalize('NFKC')).toBe(holder.email)
    const { client, location } = await signIn(someone({ email: fullWidth }))
    expect(location).toBe('/sign-in?problem=email_not_verified')
    await expectError(await client.ask('/console/api/session'), 401, 'not_signed_in')
  })

  test('takes the way back once, in the browser that began, with what it began with', async () => {
    const user = someone()
    oidc.become(user)
    const [mine, other] = [consoleClient(stack.url), consoleClient(stack.url)]
    const back = await visit((await begin(mine)).url)
    const expectFailed = async (client: ConsoleClient, path: string) =>
      expect((await navigate(client, path)).headers.get('location')).toBe('/sign-in?problem=failed')
    // A browser without the cookie, and one that began another sign-in.
    await expectFailed(consoleClient(stack.url), back)
    await begin(other)
    await expectFailed(other, back)
    const token = mine.cookies.get('shuntyard_oauth')!
    expect((await navigate(mine, back)).headers.get('location')).toBe('/dashboard')
    mine.cookies.set('shuntyard_oauth', token)
    await expectFailed(mine, back)
    for (const query of ['', '?error=access_denied&state=x', '?code=x&state=y']) {
      const client = consoleClient(stack.url)
      await begin(client)
      await expectFailed(client, `/console/api/oauth/oidc/callback${query}`)
    }
    const mixed = consoleClient(stack.url)
    await begin(mixed)
    await expectFailed(mixed, back.replace('/oidc/', '/github/'))
  })

  test('is begun by our own pages only, and leads to paths of this site only', async () => {
    const client = consoleClient(stack.url)
    const foreign = { body: {}, headers: { 'sec-fetch-site': 'cross-site' } }
    await expectError(await client.ask('/console/api/oauth/oidc', foreign), 403, 'not_permitted')
    for (const next of ['https://evil.example', '//evil.example', '/\\evil.example', 'evil'])
      await expectError(
        await client.ask('/console/api/oauth/oidc', { body: { next } }),
        400,
        'invalid_request',
      )
    await expectError(await client.ask('/console/api/oauth/none', { body: {} }), 404, 'not_found')
  })

  test('asks for the second factor of the account, and keeps a suspended one out', async () => {
    const holder = await signedUp(stack.url)
    const user = someone()
    expect(await linked(holder, user)).toBe('/settings')
    const { secret } = await holder.json<NewTotp>('/console/api/second-factor/totp', { body: CONFIRMED })
    await holder.json<NewRecoveryCodes>('/console/api/second-factor/totp/confirm', {
      body: { code: codeOf(secret) },
    })
    const { client, location } = await signIn(user, undefined, { next: '/keys' })
    const [, step] = /^\/sign-in\?next=%2Fkeys#step=([\w-]{43})$/.exec(location) ?? []
    await expectError(await client.ask('/console/api/session'), 401, 'not_signed_in')
    const asked = await client.json<SecondFactorAsked>('/console/api/sign-in/asked', { body: { step } })
    expect(asked).toEqual({ step, totp: true, passkey: null })
    const body = { step, code: codeOf(secret, 1) }
    expect((await client.ask('/console/api/sign-in/second-factor', { body })).status).toBe(200)
    await stack.command('admin', 'account', 'suspend', holder.email)
    expect((await signIn(user)).location).toBe('/sign-in?problem=suspended')
  })
})

describe('an account that is signed in', () => {
  test('links an identity with its password, whatever its address, and unlinks it with the password', async () => {
    const holder = await signedUp(stack.url)
    const user = someone({ email_verified: false })
    const wrong = { body: { current_password: 'another password' } }
    await expectError(await holder.ask('/console/api/identities/oidc', wrong), 400, 'invalid_request')
    expect(await linked(holder, user)).toBe('/settings')
    expect(await holder.json<IdentityList>('/console/api/identities')).toMatchObject({
      data: [{ provider: 'oidc', email: user.email }],
    })
    const { client } = await signIn(user)
    expect((await sessionOf(client)).person.email).toBe(holder.email)

    await expectError(await holder.ask('/console/api/identities/oidc/remove', wrong), 400, 'invalid_request')
    expect((await holder.ask('/console/api/identities/oidc/remove', { body: CONFIRMED })).status).toBe(204)
    expect((await signIn(user)).location).toBe('/sign-in?problem=email_not_verified')
  })

  test('links nothing with a step that was begun before its password was changed', async () => {
    const holder = await signedUp(stack.url)
    const user = someone()
    oidc.become(user)
    const { url } = await holder.json<RedirectView>('/console/api/identities/oidc', { body: CONFIRMED })
    const back = await visit(url)
    const changed = { current_password: PASSWORD, new_password: 'switches and signals' }
    expect((await holder.ask('/console/api/password', { body: changed })).status).toBeLessThan(300)
    expect((await navigate(holder, back)).headers.get('location')).toMatch(/problem=failed$/)
    const identities = await stack.postgres.identity.count({ where: { subject: user.sub } })
    expect(identities).toBe(0)
  })

  test('does not get an identity that signs in to another account', async () => {
    const [ann, ben] = [await signedUp(stack.url), await signedUp(stack.url)]
    const user = someone()
    await linked(ann, user)
    expect(await linked(ben, user)).toBe('/settings?problem=identity_taken')
    const { client } = await signIn(user)
    expect((await sessionOf(client)).person.email).toBe(ann.email)
  })

  test('without a password cannot remove its only way in', async () => {
    const { client } = await signIn(someone())
    const refused = await client.ask('/console/api/identities/oidc/remove', { body: CONFIRMED })
    expect((await expectError(refused, 400, 'invalid_request')).param).toBe('current_password')
  })
})

test('signing in with GitHub takes the primary address if it is verified', async () => {
  const email = `cat-${randomBytes(4).toString('hex')}@example.test`
  const attempt = async (verified: boolean) => {
    github.state.user = { id: 4_711, email, verified }
    const client = consoleClient(stack.url)
    const { url } = await client.json<RedirectView>('/console/api/oauth/github', { body: {} })
    const { searchParams } = new URL(url)
    expect(searchParams.get('scope')).toBe('read:user user:email')
    github.state.challenge = searchParams.get('code_challenge') ?? ''
    const query = new URLSearchParams({ code: 'any', state: searchParams.get('state') ?? '' })
    const response = await navigate(client, `/console/api/oauth/github/callback?${query}`)
    return { client, location: response.headers.get('location') }
  }
  expect((await attempt(false)).location).toBe('/sign-in?problem=email_not_verified')
  const { client, location } = await attempt(true)
  expect(location).toBe('/dashboard')
  const { person } = await sessionOf(client)
  expect(person).toMatchObject({ email, email_verified: true })
  // It states no groups, and so ends no membership that another service's groups made.
  const organisation = await createOrganisationStore(stack.postgres, picoUsd(0n)).create('Acme', person.id)
  const membership = { accountId: organisation.id, personId: person.id }
  await setSignInRules(stack.postgres, organisation.id, { groups: { ml: 'developer' } })
  await stack.postgres.organisationMember.update({
    where: { accountId_personId: membership },
    data: { role: 'developer', byRule: true },
  })
  await attempt(true)
  expect(await stack.postgres.organisationMember.findMany({ where: membership })).toMatchObject([
    { role: 'developer' },
  ])
})

test.each([
  ['a client without a secret', { GITHUB_CLIENT_ID: 'x' }, 'GITHUB_CLIENT_SECRET'],
  ['an issuer without a client', { OIDC_ISSUER: 'https://id.example' }, 'OIDC_CLIENT_ID'],
  [
    'an issuer that others can listen to',
    { OIDC_ISSUER: 'http://id.example', OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET: 'hidden' },
    'OIDC_ISSUER must be an https address',
  ],
])('the settings are refused with %s', (_, environment, message) => {
  const read = () =>
    readConfig({
      DATABASE_URL: 'postgresql://x/x',
      REDIS_URL: 'redis://x',
      MASTER_KEY: '0'.repeat(64),
      ...environment,
    })
  expect(read).toThrow(message)
  expect(read).not.toThrow('hidden')
})
