import { describe, expect, test } from 'vitest'
import type { CreatedKey, KeyList, KeyView } from '../../../src/core/api/keys.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { adminClient } from '../../helpers/admin-client.ts'
import { ask } from '../../helpers/chat-client.ts'
import { type ConsoleClient, signedUp } from '../../helpers/console-client.ts'
import { organisationOf } from '../../helpers/organisation.ts'
import { getAs } from '../../helpers/requests.ts'
import { testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const stack = testStack()

const newKey = (client: ConsoleClient, body: Record<string, unknown> = {}) =>
  client.json<CreatedKey>('/console/api/keys', { body: { name: 'laptop', ...body } })
const edit = (client: ConsoleClient, { id }: { id: string }, body: unknown) =>
  client.ask(`/console/api/keys/${id}`, { method: 'PATCH', body })
const edited = async (client: ConsoleClient, key: { id: string }, body: unknown) => {
  const response = await edit(client, key, body)
  expect(response.status).toBe(200)
  return (await response.json()) as KeyView
}
const turn = (client: ConsoleClient, { id }: { id: string }, verb: 'pause' | 'resume' | 'revoke') =>
  client.json<KeyView>(`/console/api/keys/${id}/${verb}`, { method: 'POST' })
const call = (key: string) => ask({ url: stack.url, key }, { model: 'test/one' })

test.each([
  ['an unknown field', { limt_usd: '1.00' }, 'limt_usd'],
  ['a state', { state: 'active' }, 'state'],
  ['an expiry in the past', { expires_at: '2020-01-01' }, 'expires_at'],
  ['a period without a limit', { limit_reset: 'daily' }, 'limit_reset'],
  ['a limit below zero', { limit_usd: '-1' }, 'limit_usd'],
  ['a limit that is no amount', { limit_usd: 'much' }, 'limit_usd'],
  ['a name of two lines', { name: 'a\nb' }, 'name'],
  ['a name that is too long', { name: 'x'.repeat(101) }, 'name'],
  ['no requests at all', { customer_requests_per_minute: 0 }, 'customer_requests_per_minute'],
  [
    'more requests than the operator grants',
    { customer_requests_per_minute: 601 },
    'customer_requests_per_minute',
  ],
  [
    'more calls at once than the operator grants',
    { customer_concurrent_calls: 101 },
    'customer_concurrent_calls',
  ],
])('a key is neither made nor edited with %s', async (_, body, param) => {
  const client = await signedUp(stack.url)
  const { key } = await newKey(client)
  const made = client.ask('/console/api/keys', { body: { name: '', ...body } })
  for (const refused of [await made, await edit(client, key, body)])
    expect((await expectError(refused, 400, 'invalid_request')).param).toBe(param)
  expect((await client.json<KeyList>('/console/api/keys')).data).toEqual([key])
})

test('the edits of an account are limited, and a key is revoked regardless', async () => {
  const client = await signedUp(stack.url)
  const { key } = await newKey(client)
  const renamed = await Promise.all(
    Array.from({ length: 70 }, (_, index) => edit(client, key, { name: `name ${index}` })),
  )
  const refused = renamed.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(10)
  const error = await expectError(refused[0]!, 429, 'rate_limit_exceeded')
  expect(error.message).toContain('Try again')
  expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await turn(client, key, 'revoke')).toMatchObject({ state: 'revoked' })
})

test('an edit of nothing is refused', async () => {
  const client = await signedUp(stack.url)
  const { key } = await newKey(client)
  await expectError(await edit(client, key, {}), 400, 'invalid_request')
})

describe('a key is edited by its holder:', () => {
  test('what is named changes, null lifts it, and the rest stays', async () => {
    const client = await signedUp(stack.url)
    const { key } = await newKey(client, {
      limit_usd: '1',
      limit_reset: 'weekly',
      customer_concurrent_calls: 5,
    })
    const expires = new Date(Date.now() + 3_600_000).toISOString()
    const all = { name: ' server ', limit_usd: 0.000001, limit_reset: 'daily', expires_at: expires }
    expect(
      await edited(client, key, {
        ...all,
        customer_requests_per_minute: 30,
        customer_concurrent_calls: null,
      }),
    ).toEqual({
      ...key,
      name: 'server',
      limit_usd: '0.000001',
      remaining_usd: '0.000001',
      limit_reset: 'daily',
      resets_at: expect.stringMatching(/T00:00:00.000Z$/),
      expires_at: expires,
      effective_requests_per_minute: 30,
      customer_requests_per_minute: 30,
      effective_concurrent_calls: 100,
      customer_concurrent_calls: null,
    })
    const lifted = await edited(client, key, { limit_usd: null, expires_at: null })
    expect(lifted).toMatchObject({ name: 'server', limit_usd: null, limit_reset: 'none', expires_at: null })
    expect(lifted.effective_requests_per_minute).toBe(30)
    expect(await client.json<KeyView>(`/console/api/keys/${key.id}`)).toEqual(lifted)
  })

  test('rate limits go up to what the operator grants the key, and no further', async () => {
    const client = await signedUp(stack.url)
    const { key } = await newKey(client)
    const most = { operator_requests_per_minute: 600, operator_concurrent_calls: 100 }
    expect(await edited(client, key, { customer_requests_per_minute: 600 })).toMatchObject(most)
    await expectError(await edit(client, key, { customer_requests_per_minute: 601 }), 400, 'invalid_request')
    await stack.postgres.apiKey.update({
      where: { id: key.id },
      data: { requestsPerMinute: 900, concurrentCalls: 2 },
    })
    expect(await edited(client, key, { customer_requests_per_minute: 900 })).toMatchObject({
      effective_requests_per_minute: 900,
      operator_requests_per_minute: 900,
      operator_concurrent_calls: 2,
    })
    await expectError(await edit(client, key, { customer_concurrent_calls: 3 }), 400, 'invalid_request')
  })

  test('a revoked key stays as it was', async () => {
    const client = await signedUp(stack.url)
    const { key } = await newKey(client)
    const revoked = await turn(client, key, 'revoke')
    await expectError(await edit(client, key, { name: 'again' }), 400, 'invalid_request')
    for (const verb of ['pause', 'resume']) {
      const response = await client.ask(`/console/api/keys/${key.id}/${verb}`, { method: 'POST' })
      await expectError(response, 400, 'invalid_request')
    }
    expect(await client.json<KeyView>(`/console/api/keys/${key.id}`)).toEqual(revoked)
  })

  test('an expired key works again with a later expiry', async () => {
    const client = await signedUp(stack.url)
    const { key, secret } = await newKey(client)
    await stack.postgres.apiKey.update({ where: { id: key.id }, data: { expiresAt: new Date(1) } })
    expect((await call(secret)).errorCode).toBe('key_revoked')
    expect((await edited(client, key, { expires_at: null })).state).toBe('active')
    expect((await call(secret)).status).toBe(200)
  })
})

test('a paused key is refused with a message of its own until it is resumed', async () => {
  const client = await signedUp(stack.url)
  const { key, secret } = await newKey(client)
  expect((await call(secret)).status).toBe(200)
  const paused = await turn(client, key, 'pause')
  expect(paused).toMatchObject({ state: 'paused', paused_at: expect.any(String) })
  const response = await getAs(secret, `${stack.url}/v1/key`)
  const { message } = await expectError(response, 403, 'key_revoked')
  expect(message).toContain('paused')
  // Idempotent, and since when it is paused stays.
  const { state, paused_at } = paused
  expect(await turn(client, key, 'pause')).toMatchObject({ state, paused_at })
  expect(await turn(client, key, 'resume')).toMatchObject({ state: 'active', paused_at: null })
  expect((await call(secret)).status).toBe(200)
})

describe('what somebody above did to a key', () => {
  const POST = { method: 'POST' }
  const operatorOf = async () => adminClient(stack, await stack.adminKey())

  test('an operator: its holder does not resume it, nor loosen its limits, and reads who paused it', async () => {
    const client = await signedUp(stack.url)
    const operator = await operatorOf()
    const { key, secret } = await newKey(client)
    await turn(client, key, 'pause')
    await operator.post(`/keys/${key.id}/pause`)
    const path = `/console/api/keys/${key.id}`
    expect(await client.json<KeyView>(path)).toMatchObject({ state: 'paused', paused_by: 'operator' })
    const resumed = await expectError(await client.ask(`${path}/resume`, POST), 403, 'not_permitted')
    expect(resumed.message).toContain('paused by an operator')
    // Pausing again below changes nothing of it.
    expect(await turn(client, key, 'pause')).toMatchObject({ paused_by: 'operator' })
    const refused = await getAs(secret, `${stack.url}/v1/key`)
    expect((await expectError(refused, 403, 'key_revoked')).message).toContain('paused by the operator')
    await operator.post(`/keys/${key.id}/resume`)
    expect(await client.json<KeyView>(path)).toMatchObject({ state: 'active', paused_by: null })

    await operator.post(`/keys/${key.id}/limits`, { limit_usd: '5.00', limit_reset: 'monthly' })
    expect((await client.json<KeyView>(path)).bounded_by).toEqual({ limit_usd: 'operator' })
    for (const looser of [{ limit_usd: null }, { limit_usd: '5.01' }, { limit_reset: 'daily' }]) {
      const error = await expectError(await edit(client, key, looser), 403, 'not_permitted')
      expect(error.param).toBe('limit_usd')
    }
    expect(await edited(client, key, { limit_usd: '1.00' })).toMatchObject({ limit_usd: '1.00' })
    expect(await edited(client, key, { limit_usd: '5.00' })).toMatchObject({ limit_usd: '5.00' })
  })

  test('an operator who issued it with a limit: that limit bounds its holder', async () => {
    const client = await signedUp(stack.url)
    const { account } = await client.json<SessionView>('/console/api/session')
    const made = await stack.command('admin', 'key', 'create', '--account', account.id, '--limit', '2.00')
    const key = { id: String(made.json.key_id) }
    await expectError(await edit(client, key, { limit_usd: null }), 403, 'not_permitted')
    expect(await edited(client, key, { limit_usd: '1.00' })).toMatchObject({ limit_usd: '1.00' })
  })

  test('an owner or admin: the developer who made it does not undo it; another manager does', async () => {
    const { members } = await organisationOf(stack, ['owner', 'admin', 'developer'])
    const { owner, admin, developer } = members
    const { key } = await newKey(developer)
    const path = `/console/api/keys/${key.id}`
    expect(await turn(owner, key, 'pause')).toMatchObject({ paused_by: 'manager' })
    await expectError(await developer.ask(`${path}/resume`, POST), 403, 'not_permitted')
    expect(await turn(admin, key, 'resume')).toMatchObject({ state: 'active' })
    expect(await turn(developer, key, 'pause')).toMatchObject({ paused_by: 'creator' })
    expect(await turn(developer, key, 'resume')).toMatchObject({ state: 'active' })

    const limits = { limit_usd: '3.00', customer_requests_per_minute: 50, allowed_models: ['test/one'] }
    expect((await edited(owner, key, limits)).bounded_by).toEqual({})
    expect((await developer.json<KeyView>(path)).bounded_by).toEqual({
      ...{ limit_usd: 'manager', customer_requests_per_minute: 'manager', allowed_models: 'manager' },
    })
    for (const [field, looser] of [
      ['limit_usd', null],
      ['customer_requests_per_minute', 51],
      ['allowed_models', []],
    ] as const) {
      const error = await expectError(await edit(developer, key, { [field]: looser }), 403, 'not_permitted')
      expect(error).toMatchObject({ param: field, message: expect.stringContaining('owner or admin') })
    }
    await edited(developer, key, { limit_usd: '1.00', customer_requests_per_minute: 10 })
    await edited(admin, key, { limit_usd: null, customer_requests_per_minute: null, allowed_models: [] })
    expect(await edited(developer, key, { limit_usd: '9.00' })).toMatchObject({ bounded_by: {} })
  })
})
