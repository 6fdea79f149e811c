import { describe, expect, test } from 'vitest'
import { costOf } from '../../src/core/billing/pricing.ts'
import { newCallId } from '../../src/core/kernel/ids.ts'
import { formatUsd, parseRate, picoUsd } from '../../src/core/kernel/money.ts'
import { ask, streamed } from '../helpers/chat-client.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { getAs } from '../helpers/requests.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { expectError } from './wire.ts'

interface Generation {
  id: string
  model: string
  key_id: string
  stream: boolean
  status: string
  finish_reason: string | null
  byok: boolean
  provider_key_id: string | null
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number; source: string }
  cost_usd: string
  rates: { prompt: string; completion: string; unit: string; version: string } | null
  timings: Record<string, string | number | null>
}

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/other': [{ at: 'beta', model: 'words-9' }],
    'test/cut': { offers: [{ at: 'alpha', model: 'words-12.cut-after-5.different-text' }], auto: false },
    'test/gone': { offers: [{ at: 'gamma', model: 'status-503' }], auto: false },
    'test/down': { offers: [{ at: 'alpha', model: 'status-400' }], auto: false },
  },
})
const owner = testAccount(stack, '20.00')

const lookUp = (id: string, key = owner.key) => getAs(key, `${stack.url}/v1/generations/${id}`)

async function found(id: string | null, key?: string): Promise<Generation> {
  const response = await lookUp(id ?? '', key)
  expect(response.status).toBe(200)
  return (await response.json()) as Generation
}

/** What the ledger took from the account for a call, pico-USD. */
async function captured(id: string): Promise<bigint> {
  const [row] = await stack.postgres.$queryRaw<Array<{ paid: bigint }>>`
    SELECT coalesce(-sum(amount_pico), 0)::bigint AS paid FROM ledger_entries
    WHERE transaction_id = ${id} AND kind = 'capture' AND ledger_account = ${`customer:${owner.accountId}`}`
  return row!.paid
}

describe('GET /v2/generation', () => {
  test('is a call with every field that OpenRouter’s libraries demand, and amounts as numbers', async () => {
    const { id } = await ask(owner, { model: 'test/plain' })
    const { cost_usd: cost, usage } = await found(id)
    const response = await getAs(owner.key, `${stack.url}/v2/generation?id=${id}`)
    const { data } = (await response.json()) as { data: Record<string, unknown> }
    expect(data).toMatchObject({
      ...{
        id,
        model: 'test/plain',
        is_byok: false,
        streamed: false,
        cancelled: false,
        finish_reason: 'stop',
      },
      ...{ tokens_prompt: usage.prompt_tokens, tokens_completion: usage.completion_tokens },
      ...{ total_cost: Number(cost), usage: Number(cost), provider_name: null, upstream_id: null },
    })
    const demanded = Object.values(data).filter((value) => value !== undefined)
    expect(demanded).toHaveLength(44)
    expect(await getAs(owner.key, `${stack.url}/v2/generation?id=none`)).toMatchObject({ status: 404 })
  })
})

describe('GET /v1/generations/{id}', () => {
  test('says right after the answer what the call used and cost, to the last pico', async () => {
    const calls = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        index % 2 === 0
          ? ask(owner, { model: 'test/plain' }).then(({ id }) => found(id))
          : streamed(owner, { model: 'test/plain' }).then(({ id }) => found(id)),
      ),
    )
    expect(calls.filter(({ stream }) => stream)).toHaveLength(6)
    for (const call of calls) {
      expect(call).toMatchObject({
        object: 'generation',
        model: 'test/plain',
        key_id: owner.keyId,
        status: 'completed',
        finish_reason: 'stop',
        error_code: null,
        byok: false,
        provider_key_id: null,
        usage: { completion_tokens: 12, source: 'upstream' },
        rates: {
          prompt: '1.00',
          completion: '2.00',
          unit: 'usd_per_million_tokens',
          version: expect.any(String),
        },
      })
      const { usage, rates, cost_usd: cost } = call
      expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
      const formula = costOf(
        { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens },
        { prompt: parseRate(rates!.prompt), completion: parseRate(rates!.completion) },
      )
      expect(cost).toBe(formatUsd(formula))
      expect(cost).toBe(formatUsd(picoUsd(await captured(call.id))))
    }
  })

  test('a generation has its queue wait, time to first token and duration', async () => {
    const { id } = await streamed(owner, { model: 'test/plain' })
    const { timings } = await found(id)
    const [queued, first, whole] = [
      timings.queued_ms,
      timings.first_token_ms,
      timings.duration_ms,
    ] as number[]
    expect(queued).toBeGreaterThanOrEqual(0)
    expect(first).toBeGreaterThanOrEqual(queued!)
    expect(whole).toBeGreaterThanOrEqual(first!)
    expect(Date.parse(timings.admitted_at as string) + whole!).toBe(Date.parse(timings.finished_at as string))
  })

  test('leaves `auto` as it is, and names neither model nor provider behind it', async () => {
    const { id } = await ask(owner, { model: 'auto' })
    const response = await lookUp(id!)
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ model: 'auto', status: 'completed' })
    expect(text).not.toMatch(/alpha|beta|words|test\//)
  })

  test('names the entry that served, as the answer did', async () => {
    const { id } = await ask(owner, { models: ['test/gone', 'test/other:floor'] })
    expect(await found(id)).toMatchObject({ model: 'test/other:floor', usage: { completion_tokens: 9 } })
  })

  test('the generation of a broken answer has what was delivered and charged', async () => {
    const { id, done } = await streamed(owner, { model: 'test/cut' })
    expect(done).toBe(false)
    const call = await found(id)
    expect(call).toMatchObject({
      status: 'interrupted',
      finish_reason: 'error',
      usage: { source: 'counted' },
    })
    expect(call.cost_usd).toBe(formatUsd(picoUsd(await captured(call.id))))
    expect(await captured(call.id)).toBeGreaterThan(0n)
  })

  test('the generation of a failed call has a cost of zero', async () => {
    const { status } = await ask(owner, { model: 'test/down' })
    expect(status).toBe(400)
    await stack.settled(owner.accountId)
    const { id } = await stack.postgres.callRecord.findFirstOrThrow({
      where: { requestedModel: 'test/down', accountId: owner.accountId },
    })
    expect(await found(id)).toMatchObject({
      status: 'failed',
      cost_usd: '0.00',
      rates: null,
      usage: { total_tokens: 0, source: 'none' },
    })
  })

  test("answers any key of the account, and no other account's", async () => {
    const { id } = await ask(owner, { model: 'test/plain' })
    const stranger = await stack.account('1.00')
    await expectError(await lookUp(id!, stranger.key), 404, 'not_found')
    // An admin key does not wait for the settlement.
    await stack.settled(owner.accountId)
    expect(await found(id, await stack.adminKey())).toMatchObject({ id })
  })

  test.each(['chatcmpl_nothing', newCallId(), 'gen-1', 'chatcmpl_01ARZ3NDEKTSV4RRFFQ69G5FAV/x'])(
    'does not know %s',
    async (id) => {
      const startedAt = Date.now()
      const response = await lookUp(id)
      expect(response.status).toBe(404)
      expect(response.headers.get('retry-after')).toBeNull()
      expect(Date.now() - startedAt).toBeLessThan(onBusyMachine(1_500))
    },
  )

  test('needs a key and is read only', async () => {
    await expectError(await fetch(`${stack.url}/v1/generations/x`), 401, 'missing_api_key')
    const response = await fetch(`${stack.url}/v1/generations/x`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${owner.key}` },
    })
    await expectError(response, 405, 'method_not_allowed')
  })

  test('says so when a settlement does not come, and is found once it has', async () => {
    await stack.settled(owner.accountId)
    await stack.settlement.stop()
    const { id } = await ask(owner, { model: 'test/plain' })
    const stranger = await stack.account('1.00')
    await expectError(await lookUp(id!, stranger.key), 404, 'not_found')

    const late = await lookUp(id!)
    expect(late.headers.get('retry-after')).toBe('1')
    expect(late.headers.get('x-should-retry')).toBe('true')
    const error = await expectError(late, 404, 'not_found')
    expect(error.message).toMatch(/not settled yet/)

    await stack.startSettlement()
    await stack.settled(owner.accountId)
    expect((await lookUp(id!)).status).toBe(200)
  })
})
