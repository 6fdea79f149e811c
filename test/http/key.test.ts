import { describe, expect, test } from 'vitest'
import { formatUsd, parseUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { ask, stream } from '../helpers/chat-client.ts'
import { getAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/paced': [{ at: 'alpha', model: 'words-40.rate-20' }],
  },
  environment: { REQUESTS_PER_MINUTE: '77', CONCURRENT_CALLS: '7', TOKENS_PER_MINUTE: '50000' },
})

async function view(
  key: string,
): Promise<Record<string, unknown> & { used_usd: string; remaining_usd: string }> {
  const response = await getAs(key, `${stack.url}/v1/key`)
  expect(response.status).toBe(200)
  return response.json() as never
}

const usd = (amountPico: bigint) => formatUsd(picoUsd(amountPico))

describe('GET /v1/key', () => {
  test('GET /v1/key has name, limit, remainder and rate limits of the key', async () => {
    const expiresAt = new Date('2090-01-31T12:00:00Z')
    const { key, keyId } = await stack.account('20.00', {
      name: 'web',
      limitPico: parseUsd('1.00'),
      limitReset: 'monthly',
      expiresAt,
      requestsPerMinute: 60,
      concurrentCalls: 4,
    })
    const now = new Date()
    expect(await view(key)).toEqual({
      id: keyId,
      object: 'key',
      name: 'web',
      limit_usd: '1.00',
      used_usd: '0.00',
      remaining_usd: '1.00',
      available_balance_usd: '20.00',
      limit_reset: 'monthly',
      resets_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString(),
      member_budget: null,
      spend_cap: null,
      expires_at: '2090-01-31T12:00:00.000Z',
      allowed_models: null,
      allowed_providers: null,
      scopes: [],
      rate_limits: {
        requests_per_minute: 60,
        tokens_per_minute: 50_000,
        concurrent_calls: 4,
        account_requests_per_minute: 1_200,
        account_concurrent_calls: 200,
      },
    })
  })

  test('has at /v2 what libraries of other routers read, and all the rest', async () => {
    const { key, accountId } = await stack.account('20.00', { name: 'web', limitPico: parseUsd('1.00') })
    await ask({ url: stack.url, key }, { model: 'test/plain' })
    await stack.settled(accountId)
    const { used_usd, remaining_usd, ...own } = await view(key)
    const { data, ...info } = (await (await getAs(key, `${stack.url}/v2/key`)).json()) as {
      data: object
    }
    expect(info).toEqual({ ...own, used_usd, remaining_usd })
    const usage = Number(used_usd)
    expect(usage).toBeGreaterThan(0)
    expect(data).toMatchObject({
      ...{ label: 'web', limit: 1, limit_remaining: Number(remaining_usd), limit_reset: null, usage },
      ...{ usage_daily: usage, usage_weekly: usage, usage_monthly: usage, rate_limit: { interval: '1m' } },
    })
  })

  test('shows the defaults of the gateway where a key sets none', async () => {
    const { key } = await stack.account('20.00', { requestsPerMinute: null, concurrentCalls: null })
    expect(await view(key)).toMatchObject({
      limit_usd: null,
      used_usd: '0.00',
      remaining_usd: null,
      limit_reset: 'none',
      resets_at: null,
      expires_at: null,
      rate_limits: {
        requests_per_minute: 77,
        tokens_per_minute: 50_000,
        concurrent_calls: 7,
        account_requests_per_minute: 1_200,
        account_concurrent_calls: 200,
      },
    })
  })

  test('counts what the ledger took for calls of this key, and no other', async () => {
    const { key, keyId, accountId } = await stack.account('20.00', { limitPico: parseUsd('0.50') })
    await Promise.all(Array.from({ length: 5 }, () => ask({ url: stack.url, key }, { model: 'test/plain' })))
    await stack.settled(accountId)
    const [row] = await stack.postgres.$queryRaw<Array<{ paid: bigint }>>`
      SELECT -sum(e.amount_pico)::bigint AS paid FROM ledger_entries AS e
      JOIN call_records AS c ON c.id = e.transaction_id
      WHERE c.key_id = ${keyId} AND e.ledger_account = ${`customer:${accountId}`}`
    const paid = row!.paid
    expect(paid).toBeGreaterThan(0n)
    expect(await view(key)).toMatchObject({
      used_usd: usd(paid),
      remaining_usd: usd(parseUsd('0.50') - paid),
    })
  })

  test('leaves out of what remains what open calls hold', async () => {
    const { key } = await stack.account('20.00', { limitPico: parseUsd('0.01') })
    const messages = [{ role: 'user' as const, content: 'Go.' }]
    const open = await stream({ url: stack.url, key }, { model: 'test/paced', max_tokens: 50, messages })
    await open.said(1)
    const held = BigInt(promptTokensBound(messages, {})) * 1_000_000n + 50n * 2_000_000n
    expect(await view(key)).toMatchObject({
      used_usd: '0.00',
      remaining_usd: usd(parseUsd('0.01') - held),
    })
    open.hangUp()
    await open.end
  })

  test('answers admin keys, which have no limits', async () => {
    expect(await view(await stack.adminKey())).toMatchObject({ limit_usd: null, remaining_usd: null })
  })
})
