import { describe, expect, test } from 'vitest'
import type { CreatedKey, KeyView } from '../../../src/core/api/keys.ts'
import type { ActivityEntry } from '../../../src/core/api/organisations.ts'
import type { Page } from '../../../src/core/api/shared.ts'
import type { ConsoleClient } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { member, organisationOf } from '../../helpers/organisation.ts'
import { testMailCatcher, testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const API = '/console/api'
const NEW_PROVIDER_KEY = { provider: 'alpha', key: 'sk-invented-0123456789', name: 'of the team' }

const catcher = testMailCatcher()
const stack = testStack(() => ({
  providerKeyNames: { alpha: 'SCOPES_TEST_ALPHA_KEY' },
  environment: {
    ...catcher.environment,
    PUBLIC_URL: 'https://gateway.example',
    PAYMENTS_DEVELOPMENT_RAIL: 'true',
  },
}))

const makeKey = (by: ConsoleClient, scopes?: string[]) =>
  by.json<CreatedKey>(`${API}/keys`, { body: { name: 'robot', ...(scopes && { scopes }) } })
const edit = (by: ConsoleClient, id: string, scopes: string[]) =>
  by.ask(`${API}/keys/${id}`, { method: 'PATCH', body: { scopes } })
const request = (secret: string, method: string, path: string, body?: unknown) =>
  fetch(stack.url + path, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
const addProviderKey = (secret: string) => request(secret, 'POST', '/v1/provider-keys', NEW_PROVIDER_KEY)
const scopesOf = async (secret: string) =>
  ((await (await request(secret, 'GET', '/v1/key')).json()) as { scopes: string[] }).scopes

describe('an API key', () => {
  test.each([
    ['GET', '/v1/provider-keys', undefined],
    ['POST', '/v1/provider-keys', NEW_PROVIDER_KEY],
    ['PATCH', '/v1/provider-keys/pkey_none', { disabled: true }],
    ['DELETE', '/v1/provider-keys/pkey_none', undefined],
    ['GET', '/billing/topups', undefined],
    ['GET', '/billing/topups/evt_none', undefined],
    ['POST', '/billing/topups', { amount_usd: '5.00', rail: 'development' }],
  ])('without the scope is refused: %s %s', async (method, path, body) => {
    const { secret, key } = await makeKey(await member(stack.url))
    expect(key.scopes).toEqual([])
    const { message } = await expectError(await request(secret, method, path, body), 403, 'not_permitted')
    expect(message).toMatch(/scope `(provider_keys|top_ups)`.*An owner or admin can enable it/)
  })

  test('has the scopes that its holder turned on, each for itself, until they turn them off', async () => {
    const holder = await member(stack.url)
    const { secret, key } = await makeKey(holder, ['top_ups'])
    expect(await scopesOf(secret)).toEqual(['top_ups'])
    expect((await request(secret, 'GET', '/billing/topups')).status).toBe(200)
    await expectError(await addProviderKey(secret), 403, 'not_permitted')
    expect(((await (await edit(holder, key.id, ['provider_keys'])).json()) as KeyView).scopes).toEqual([
      'provider_keys',
    ])
    await eventually(async () => expect((await addProviderKey(secret)).status).toBe(201))
    await expectError(await request(secret, 'GET', '/billing/topups'), 403, 'not_permitted')
    expect((await edit(holder, key.id, [])).status).toBe(200)
    await eventually(async () => expectError(await addProviderKey(secret), 403, 'not_permitted'))
    await expectError(await edit(holder, key.id, ['everything']), 400, 'invalid_request')
  })

  test('never may more than the role of who made it permits now', async () => {
    const { accountId, members } = await organisationOf(stack, ['owner', 'admin', 'developer'])
    const { owner, admin, developer } = members
    const body = { name: 'mine', scopes: ['provider_keys'] }
    await expectError(await developer.ask(`${API}/keys`, { body }), 403, 'not_permitted')
    const theirs = await makeKey(developer)
    for (const one of [developer, owner])
      await expectError(await edit(one, theirs.key.id, ['top_ups']), 403, 'not_permitted')
    // Also what is stored wrongly gives nothing.
    await stack.postgres.apiKey.update({ where: { id: theirs.key.id }, data: { scopes: ['provider_keys'] } })
    await expectError(await addProviderKey(theirs.secret), 403, 'not_permitted')

    const { secret, key } = await makeKey(admin, ['provider_keys', 'top_ups'])
    expect((await addProviderKey(secret)).status).toBe(201)
    const demote = { method: 'PATCH', body: { role: 'developer' } }
    expect((await owner.ask(`${API}/members/${admin.personId}`, demote)).status).toBe(204)
    await eventually(async () => expectError(await addProviderKey(secret), 403, 'not_permitted'))
    expect((await owner.json<KeyView>(`${API}/keys/${key.id}`)).scopes).toEqual([])

    const { data } = await owner.json<Page<ActivityEntry>>(`${API}/activity`)
    const added = data.filter(({ action }) => action === 'provider_key.added')
    expect(added).toMatchObject([
      { person: admin.email, details: { api_key: 'robot', api_key_id: key.id, provider: 'alpha' } },
    ])
    expect(data.find(({ target }) => target === key.id)).toMatchObject({
      action: 'key.created',
      details: { name: 'robot', scopes: 'provider_keys, top_ups' },
    })
    expect(accountId).toMatch(/^acct_/)
  })

  test('of an operator on the command line has the scopes that it was made with', async () => {
    const { accountId } = await stack.account('1.00')
    const made = await stack.command('admin', 'key', 'create', '--account', accountId, '--scope', 'top_ups')
    expect(made.json).toMatchObject({ scopes: ['top_ups'] })
    expect(await scopesOf(String(made.json.key))).toEqual(['top_ups'])
    const wrong = await stack.command('admin', 'key', 'create', '--account', accountId, '--scope', 'all')
    expect(wrong.code).not.toBe(0)
  })
})

test('owners and admins get a mail about an added provider key with its author, and other members none', async () => {
  const { members, accountId } = await organisationOf(stack, ['owner', 'admin', 'developer', 'billing'])
  for (const { email } of Object.values(members))
    await stack.postgres.account.update({ where: { email }, data: { emailVerifiedAt: new Date() } })
  const { secret } = await makeKey(members.owner, ['provider_keys'])
  const told = () => catcher.received.filter(({ content }) => content.includes('A provider key was added'))
  expect((await addProviderKey(secret)).status).toBe(201)
  await eventually(() => expect(told()).toHaveLength(2))
  expect(
    told()
      .flatMap(({ to }) => to)
      .sort(),
  ).toEqual([members.admin.email, members.owner.email].sort())
  expect(told()[0]!.content).toMatch(/The API key "robot"/)
  const body = { ...NEW_PROVIDER_KEY, name: 'second' }
  await members.admin.json(`${API}/provider-keys`, { body })
  await eventually(() => expect(told()).toHaveLength(4))
  expect(told()[3]!.content).toContain(members.admin.email)
  expect(await stack.postgres.providerKey.count({ where: { accountId } })).toBe(2)
})
