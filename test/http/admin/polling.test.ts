import { beforeAll, expect, test } from 'vitest'
import type { MovingOffer, MovingProvider, OfferView } from '../../../src/core/api/offers.ts'
import type { List } from '../../../src/core/api/shared.ts'
import { type AdminClient, adminClient } from '../../helpers/admin-client.ts'
import { ask } from '../../helpers/chat-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testStack } from '../../helpers/resources.ts'

let admin: AdminClient
let key: string

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/idle': [{ at: 'beta', model: 'words-12' }],
  },
})
beforeAll(async () => {
  key = await stack.adminKey()
  admin = adminClient(stack, key)
})

test('what a page has already is not sent again until it changes', async () => {
  const read = (tag?: string) =>
    fetch(`${stack.url}/admin/api/offers`, {
      headers: { authorization: `Bearer ${key}`, ...(tag && { 'if-none-match': tag }) },
    })
  const first = await read()
  const tag = first.headers.get('etag')!
  expect(tag).toMatch(/^W\/"[\w-]{16}"$/)
  const again = await read(tag)
  expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', tag])
  expect((await read('W/"other"')).status).toBe(200)
  const owner = await stack.account('1.00')
  await ask(owner, { model: 'test/plain' })
  await eventually(async () => {
    const changed = await read(tag)
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(tag)
  })
})

test('of offers and providers only what moves is polled, of those that are not at rest', async () => {
  const { data } = await admin.get<List<OfferView>>('/offers')
  expect(data.map(({ provider }) => provider)).toEqual(['beta', 'alpha'].toSorted())
  await eventually(async () => {
    const offers = (await admin.get<List<MovingOffer>>('/offers/moving')).data
    expect(offers).toHaveLength(1)
    expect(offers[0]).toEqual({
      id: 'alpha/words-12',
      health: expect.objectContaining({ state: 'ready' }),
      last_minute: expect.objectContaining({ success: 1 }),
      last_ten_minutes: expect.objectContaining({ success: 1 }),
      first_token_ms: expect.anything(),
      tokens_per_second: expect.toSatisfy(() => true),
    })
    const providers = (await admin.get<List<MovingProvider>>('/providers/moving')).data
    expect(providers.map(({ id }) => id)).toEqual(['alpha'])
    expect(Object.keys(providers[0]!).toSorted()).toEqual([
      ...['breaker', 'health', 'id', 'last_minute', 'last_ten_minutes'],
    ])
  })
  expect((await admin.get<List<MovingOffer>>('/offers/moving?provider=beta')).data).toEqual([])
})
