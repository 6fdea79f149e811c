import OpenAI, { type APIError } from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { formatUsd, parseUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { getAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

const EMBEDDINGS = {
  kind: 'embeddings',
  dimensions: 8,
  context_length: 100,
  supported_parameters: ['dimensions'],
  list_price: { prompt: '1.06', completion: '0' },
  rate: { prompt: '1.00', completion: '0' },
}
/** Discounted as usual. */
const RATE = undefined
const RERANK = { kind: 'rerank', list_price: { prompt: '1.06', completion: '0' }, rate: RATE }
const MODERATION = { kind: 'moderation', list_price: { prompt: '0', completion: '0' }, rate: RATE }
const SEARCHES = { prompt: '0', completion: '0', units: '2000' }

let accountId: string
let client: OpenAI
let call: (path: string, body: unknown, signal?: AbortSignal) => Promise<Response>

const stack = testStack({
  models: {
    'test/chat': [{ at: 'alpha', model: 'words-5' }],
    'test/embed': { ...EMBEDDINGS, offers: [{ at: 'alpha', model: 'dimensions-8', cost: '0' }] },
    'test/failing': {
      ...EMBEDDINGS,
      offers: [
        { at: 'alpha', model: 'fail-on-alpha.dimensions-8', cost: '0' },
        { at: 'beta', model: 'fail-on-alpha.dimensions-8', cost: '0' },
      ],
    },
    'test/broken': {
      ...EMBEDDINGS,
      offers: [
        { at: 'alpha', model: 'on-alpha-cut-after-1.dimensions-8', cost: '0' },
        { at: 'beta', model: 'on-alpha-cut-after-1.dimensions-8', cost: '0' },
      ],
    },
    'test/absurd': {
      ...EMBEDDINGS,
      offers: [{ at: 'alpha', model: 'absurd-usage.dimensions-8', cost: '0' }],
    },
    'test/held': { ...EMBEDDINGS, offers: [{ at: 'alpha', model: 'held.dimensions-8', cost: '0' }] },
    'test/rerank': { ...RERANK, offers: [{ at: 'alpha', model: 'tag-rerank', cost: '0' }] },
    'test/search': {
      ...RERANK,
      unit: 'search',
      list_price: SEARCHES,
      offers: [{ at: 'alpha', model: 'tag-search', cost: '0' }],
    },
    'omni-moderation-latest': {
      ...MODERATION,
      offers: [{ at: 'alpha', model: 'tag-moderation', cost: '0' }],
    },
  },
  environment: { BREAKER_FAILURES: '1000' },
})
beforeAll(async () => {
  const account = await stack.account('20.00')
  accountId = account.accountId
  for (const surface of ['embeddings', 'rerank', 'moderations'])
    await stack.command('admin', 'surface', 'open', surface, '--account', accountId)
  client = new OpenAI({ apiKey: account.key, baseURL: `${stack.url}/v1`, maxRetries: 0 })
  call = post(account.key)
})

const post = (key: string) => (path: string, body: unknown, signal?: AbortSignal) =>
  fetch(`${stack.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })

/** The record of the account's latest call, once it is settled. */
async function latestCall() {
  await stack.settled(accountId)
  const [record] = await stack.postgres.callRecord.findMany({
    where: { accountId },
    orderBy: { id: 'desc' },
    take: 1,
  })
  return record!
}

const failureOf = (asked: PromiseLike<unknown>): Promise<APIError> =>
  Promise.resolve(asked).then(
    () => Promise.reject(new Error('it did not fail')),
    (error: APIError) => error,
  )

interface Answered {
  id: string
  model: string
  data: unknown[]
  results: unknown[]
  usage: { prompt_tokens: number }
  meta: { billed_units: { search_units: number } }
  error: Record<string, unknown>
}

const read = async (answer: Response) => (await answer.json()) as Answered

const lengthOf = (vector: readonly number[]) => Math.hypot(...vector)

describe('embeddings', () => {
  test('come in order, at unit length, and are charged by their tokens exactly', async () => {
    const { data, model, usage } = await client.embeddings.create({
      model: 'test/embed',
      input: ['a train leaves', 'a queue grows'],
    })
    expect(model).toBe('test/embed')
    expect(data.map(({ index }) => index)).toEqual([0, 1])
    for (const { embedding } of data) expect(lengthOf(embedding)).toBeCloseTo(1, 5)
    const record = await latestCall()
    expect(record).toMatchObject({
      status: 'completed',
      usageSource: 'upstream',
      promptTokens: usage.prompt_tokens,
      completionTokens: 0,
      unit: null,
      chargePico: BigInt(usage.prompt_tokens) * 1_000_000n,
    })
    expect(record.chargePico).toBeLessThanOrEqual(record.holdPico)
  })

  test('are the same as numbers and as base64, for texts and for token ids, at the length asked for', async () => {
    const ask = (encoding_format: 'float' | 'base64', input: string | number[] = 'one text') =>
      client.embeddings.create({ model: 'test/embed', input, encoding_format, dimensions: 4 })
    const [floats] = (await ask('float')).data
    const [base64] = (await ask('base64')).data
    const bytes = Buffer.from(base64!.embedding as unknown as string, 'base64')
    expect(floats!.embedding).toHaveLength(4)
    expect([0, 4, 8, 12].map((at) => bytes.readFloatLE(at))).toEqual(floats!.embedding.map(Math.fround))
    expect((await ask('float', [1, 2, 3])).data).toHaveLength(1)
  })

  test('fail over from a provider that fails, and from an answer that is cut', async () => {
    for (const model of ['test/failing', 'test/broken']) {
      const answer = await call('/v1/embeddings', { model, input: 'a text', provider: { order: ['alpha'] } })
      expect((await read(answer)).data).toHaveLength(1)
      const { attempts, servedOfferId } = await latestCall()
      expect((attempts as unknown[]).length).toBeGreaterThan(1)
      expect(servedOfferId).toMatch(/^beta/)
    }
  })

  test('are charged by a count of our own where the reported usage cannot be', async () => {
    const { usage } = await client.embeddings.create({ model: 'test/absurd', input: 'a few words of text' })
    const record = await latestCall()
    expect(usage.prompt_tokens).toBe(record.promptTokens)
    expect(record).toMatchObject({ usageSource: 'counted', usageClamped: true })
    expect(record.chargePico).toBe(BigInt(record.promptTokens) * 1_000_000n)
    expect(record.promptTokens).toBeGreaterThan(0)
  })

  test('cost nothing when the client leaves before they come', async () => {
    const leaving = new AbortController()
    const asked = call('/v1/embeddings', { model: 'test/held', input: 'a text' }, leaving.signal)
    await stack.providers.log.arrived(({ model }) => model === 'held.dimensions-8')
    leaving.abort()
    await expect(asked).rejects.toThrow()
    expect(await latestCall()).toMatchObject({ status: 'cancelled', chargePico: 0n })
    stack.providers.release()
  })

  test('are refused beyond the bounds of one answer, a window or a balance', async () => {
    const refusal = async (body: object) => {
      const { status, code, param } = await failureOf(
        client.embeddings.create({ model: 'test/embed', input: 'a text', ...body }),
      )
      return [status, code, param]
    }
    expect(await refusal({ dimensions: 9 })).toEqual([422, 'unsupported_shape', 'dimensions'])
    expect(await refusal({ input: 'x '.repeat(2_000) })).toEqual([400, 'context_length_exceeded', 'input'])
    expect(await refusal({ input: ['a', ''] })).toEqual([400, 'invalid_request', 'input[1]'])
    expect(await refusal({ input: [] })).toEqual([400, 'invalid_request', 'input'])
    expect(await refusal({ model: 'test/chat' })).toEqual([404, 'model_not_found', 'model'])
    const poor = await stack.account('0.000001')
    await stack.command('admin', 'surface', 'open', 'embeddings', '--account', poor.accountId)
    const answer = await post(poor.key)('/v1/embeddings', { model: 'test/embed', input: 'a text' })
    expect(answer.status).toBe(402)
  })
})

describe('rerank', () => {
  const body = { query: 'fast trains', documents: ['slow cars', 'fast trains win', 'trains'] }

  test('orders documents by relevance and returns the best, with their texts if asked for', async () => {
    const answer = await call('/v1/rerank', {
      model: 'test/rerank',
      ...body,
      top_n: 2,
      return_documents: true,
    })
    const { results, usage, model } = await read(answer)
    expect(model).toBe('test/rerank')
    expect(results).toEqual([
      { index: 1, relevance_score: 1, document: { text: 'fast trains win' } },
      { index: 2, relevance_score: 0.5, document: { text: 'trains' } },
    ])
    const record = await latestCall()
    expect(record.promptTokens).toBe(usage.prompt_tokens)
    expect(record.chargePico).toBe(BigInt(usage.prompt_tokens) * record.promptRatePico!)
  })

  test('is charged by searches where the model is priced by them', async () => {
    const documents = Array.from({ length: 101 }, (_, index) => ({ text: `document ${index}` }))
    const answer = await call('/v1/rerank', { model: 'test/search', query: 'document 7', documents })
    const { results, meta, id } = await read(answer)
    expect(results).toHaveLength(101)
    expect(meta.billed_units.search_units).toBe(2)
    const record = await latestCall()
    expect(record).toMatchObject({ units: 2, unit: 'search', unitsRatePico: 1_900_000_000n })
    expect(record.chargePico).toBe(2n * 1_900_000_000n)
    expect(record.holdPico).toBe(record.chargePico)
    const generation = await getAs(client.apiKey!, `${stack.url}/v1/generations/${id}`)
    expect(await generation.json()).toMatchObject({
      usage: { units: 2, unit: 'search' },
      rates: { units: '1900.00' },
      cost_usd: '0.0038',
    })
  })
})

test('moderations judge texts and parts, and cost nothing', async () => {
  const { results, model } = await client.moderations.create({ input: ['hello', 'violence'] })
  expect(model).toBe('omni-moderation-latest')
  expect(results.map(({ flagged }) => flagged)).toEqual([false, true])
  const parts = await client.moderations.create({
    input: [
      { type: 'text', text: 'violence' },
      { type: 'image_url', image_url: { url: 'https://example.test/a.png' } },
    ],
  })
  expect(parts.results).toHaveLength(1)
  expect(await latestCall()).toMatchObject({ status: 'completed', holdPico: 0n, chargePico: 0n })
})

test('the refusal of a closed surface says who can open it', async () => {
  const other = await stack.account('1.00')
  for (const path of ['/v1/embeddings', '/v1/rerank', '/v1/moderations']) {
    const answer = await post(other.key)(path, { model: 'test/embed', input: 'a text' })
    const { error } = await read(answer)
    expect([answer.status, error.code]).toEqual([404, 'surface_unavailable'])
    expect(error.message).toContain(`POST ${path} is closed to this API key. An operator can open it`)
  }
})

test('chats do not reach models of another kind', async () => {
  const answer = await call('/v1/chat/completions', {
    model: 'test/embed',
    messages: [{ role: 'user', content: 'a text' }],
  })
  expect(answer.status).toBe(404)
})

test('after all of it the audit finds nothing, and the balance is the credit less the charges', async () => {
  await stack.settled(accountId)
  const { code } = await stack.command('audit')
  expect(code).toBe(0)
  const calls = await stack.postgres.callRecord.findMany({ where: { accountId } })
  const spent = calls.reduce((sum, { chargePico }) => sum + chargePico, 0n)
  const account = await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })
  expect(formatUsd(account.balancePico)).toBe(formatUsd(picoUsd(parseUsd('20.00') - spent)))
  for (const { chargePico, holdPico } of calls) expect(chargePico).toBeLessThanOrEqual(holdPico)
})
