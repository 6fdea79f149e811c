import { describe, expect, test } from 'vitest'
import { postAs } from '../helpers/requests.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const stack = testStack()
const owner = testAccount(stack, '1.00')

async function call(body: Record<string, unknown>) {
  const response = await postAs(owner.key, `${stack.url}/v1/chat/completions`, {
    messages: [{ role: 'user', content: 'Tell me about rail yards.' }],
    ...body,
  })
  expect(response.status).toBe(200)
  const text = await response.text()
  await stack.settled(owner.accountId)
  const { id } = JSON.parse(text)
  const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id } })
  return { text, headers: [...response.headers], record }
}

describe('a call to auto', () => {
  test('the record of an auto call has score and profile, and the response has neither', async () => {
    const { text, headers, record } = await call({ model: 'auto', routing_profile: 'premium' })
    expect(record.autoScore).toBeGreaterThan(0)
    expect(record.autoScore).toBeLessThan(1)
    expect(record).toMatchObject({
      autoProfile: 'premium',
      servedModelId: 'test/one',
    })
    expect(JSON.parse(text).model).toBe('auto')
    const told = `${text} ${headers.join(' ')}`
    expect(told).not.toMatch(/test\/plain|words-12|alpha|score|light|premium/)
  })

  test('a call by name has no score in its record', async () => {
    const { record } = await call({ model: 'test/one' })
    expect(record).toMatchObject({ autoScore: null, autoProfile: null })
  })
})
