import { describe, expect, test } from 'vitest'
import { formatUsd, parseUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { adminClient } from '../helpers/admin-client.ts'
import { ask, stream } from '../helpers/chat-client.ts'
import { getAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'
import { expectError } from './wire.ts'

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/paced': [{ at: 'alpha', model: 'words-40.rate-20' }],
  },
})

const get = (path: string, key: string) => getAs(key, stack.url + path)

async function read(path: string, key: string) {
  const response = await get(path, key)
  expect(response.status).toBe(200)
  return response.json() as never
}

const credits = async (key: string, query = '') =>
  ((await read(`/v1/credits${query}`, key)) as { data: Record<string, string> }).data

const usd = (amountPico: bigint) => formatUsd(picoUsd(amountPico))

describe('GET /v1/credits', () => {
  test('is exact to the last digit after calls, credits and money taken back', async () => {
    const { key, accountId } = await stack.account('20.00')
    expect(await credits(key)).toEqual({ total_credits: '20.00', total_usage: '0.00', available: '20.00' })
    await Promise.all(Array.from({ length: 5 }, () => ask({ url: stack.url, key }, { model: 'test/plain' })))
    await stack.settled(accountId)
    const admin = adminClient(stack, await stack.adminKey())
    await admin.post(`/accounts/${accountId}/credit`, { amount_usd: '5.00' })
    await admin.post(`/accounts/${accountId}/adjust`, { amount_usd: '-1.50', reason: 'given by mistake' })
    const { _sum } = await stack.postgres.callRecord.aggregate({
      where: { accountId },
      _sum: { chargePico: true },
    })
    const used = _sum.chargePico ?? 0n
    expect(used).toBeGreaterThan(0n)
    expect(await credits(key)).toEqual({
      total_credits: '23.50',
      total_usage: usd(used),
      available: usd(parseUsd('23.50') - used),
    })
  })

  test('leaves out of what is available what open calls hold', async () => {
    const { key } = await stack.account('1.00')
    const messages = [{ role: 'user' as const, content: 'Go.' }]
    const open = await stream({ url: stack.url, key }, { model: 'test/paced', max_tokens: 50, messages })
    await open.said(1)
    const held = BigInt(promptTokensBound(messages, {})) * 1_000_000n + 50n * 2_000_000n
    const available = usd(parseUsd('1.00') - held)
    expect(await credits(key)).toEqual({ total_credits: '1.00', total_usage: '0.00', available })
    expect(await read('/v1/key', key)).toMatchObject({ available_balance_usd: available })
    open.hangUp()
    await open.end
  })

  test('has its totals as numbers, too, at /v2', async () => {
    const { key } = await stack.account('1.00')
    expect(await read('/v2/credits', key)).toEqual({
      data: {
        ...{ total_credits: 1, total_usage: 0, total_credits_usd: '1.00', total_usage_usd: '0.00' },
        available: '1.00',
      },
    })
  })

  test('carries the headers of rate limits, and may not be cached', async () => {
    const { key } = await stack.account('1.00')
    const { headers } = await get('/v1/credits', key)
    expect(headers.get('x-ratelimit-limit-requests')).toMatch(/^\d+$/)
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test("is an account's own; admin keys name one", async () => {
    const [own, other] = await Promise.all([stack.account('1.00'), stack.account('2.00')])
    const query = `?account_id=${other.accountId}`
    await expectError(await get(`/v1/credits${query}`, own.key), 403, 'not_permitted')
    const admin = await stack.adminKey()
    expect(await credits(admin, query)).toMatchObject({ available: '2.00' })
    await expectError(await get('/v1/credits', admin), 400, 'invalid_request')
    await expectError(await get('/v1/credits?account_id=acct_none', admin), 404, 'not_found')
    expect(await read('/v1/key', admin)).toMatchObject({ available_balance_usd: null })
  })
})
