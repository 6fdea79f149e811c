import { expect, test } from 'vitest'
import { ask } from '../../helpers/chat-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testStack } from '../../helpers/resources.ts'

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
  },
})

test('what a page has already is not sent again until it changes', async () => {
  const key = await stack.adminKey()
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
