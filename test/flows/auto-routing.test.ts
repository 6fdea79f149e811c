import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startStack, type TestStack } from '../helpers/stack.ts'

let stack: TestStack
let key: string
let accountId: string

beforeAll(async () => {
  stack = await startStack({ models: { 'test/plain': [{ at: 'alpha', model: 'words-12' }] } })
  ;({ key, accountId } = await stack.account('1.00'))
})
afterAll(() => stack?.close())

async function call(body: Record<string, unknown>) {
  const response = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Tell me about rail yards.' }], ...body }),
  })
  expect(response.status).toBe(200)
  const text = await response.text()
  await stack.settled(accountId)
  const { id } = JSON.parse(text)
  const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id } })
  return { text, headers: [...response.headers], record }
}

describe('a call to auto', () => {
  test('is recorded with its score, tier and profile, of which its client is told nothing', async () => {
    const { text, headers, record } = await call({ model: 'auto', routing_profile: 'premium' })
    expect(record.autoScore).toBeGreaterThan(0)
    expect(record.autoScore).toBeLessThan(1)
    expect(record).toMatchObject({
      autoTier: 'standard',
      autoProfile: 'premium',
      servedModelId: 'test/plain',
    })
    expect(JSON.parse(text).model).toBe('auto')
    const told = `${text} ${headers.join(' ')}`
    expect(told).not.toMatch(/test\/plain|words-12|alpha|score|tier|standard|premium/)
  })

  test('is told apart from one that names its model, which has no score', async () => {
    const { record } = await call({ model: 'test/plain' })
    expect(record).toMatchObject({ autoScore: null, autoTier: null, autoProfile: null })
  })
})
