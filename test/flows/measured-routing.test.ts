import { beforeAll, expect, test } from 'vitest'
import { ask, type Caller } from '../helpers/chat-client.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { testStack } from '../helpers/resources.ts'

const MEASURED = 'test/measured'
const [CACHED, ALONE] = ['test/cached', 'test/alone']
/** The same client at two API instances. */
let callers: Caller[]

/** A model whose prompt cache costs a tenth. */
const cached = (model: string, ...providers: string[]) => ({
  list_price: { prompt: '1.06', completion: '2.12', cache_read: '0.106' },
  rate: { prompt: '1.00', completion: '2.00', cache_read: '0.10' },
  offers: providers.map((at) => ({ at, model, cacheCost: '0.05' })),
})

const stack = testStack({
  apis: 2,
  dispatchWorkers: 2,
  models: {
    // alpha begins at once and dawdles, beta begins late and hurries, gamma is neither, and the cheapest. An answer
    // whose words all come at once, as after a stall, is measured with the time to its first: beta is the fastest even so.
    [MEASURED]: [
      { at: 'alpha', model: 'words-16.rate-4', cost: '0.50' },
      { at: 'beta', model: 'words-16.first-token-1200.rate-300', cost: '0.50' },
      { at: 'gamma', model: 'words-16.first-token-600.rate-8', cost: '0.10' },
    ],
    [CACHED]: cached('prefix-cache.words-8', 'alpha', 'beta', 'gamma', 'delta'),
    [ALONE]: cached('prefix-cache.words-8.tag-alone', 'alpha'),
  },
})
beforeAll(async () => {
  const { key } = await stack.account('20.00')
  callers = stack.urls.map((url) => ({ url, key }))
})

/** Who is asked first when a call prefers a sort. */
async function first(caller: Caller, body: Record<string, unknown>): Promise<string | undefined> {
  stack.providers.log.clear()
  expect(await ask(caller, body)).toMatchObject({ status: 200 })
  return stack.providers.log.requests[0]?.provider
}

test('a sort by measurement goes by price before anything is measured, then by what calls showed, at every instance', async () => {
  for (const sort of ['throughput', 'latency'])
    expect(await first(callers[0]!, { model: MEASURED, provider: { sort } })).toBe('gamma')
  for (const provider of ['alpha', 'beta', 'gamma']) {
    const asked = Array.from({ length: 3 }, () =>
      ask(callers[0]!, { model: MEASURED, provider: { only: [provider] } }),
    )
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200)
  }
  for (const caller of callers) {
    // One at a time: who was asked is read off one log.
    const inTurn = async () => [
      await first(caller, { model: `${MEASURED}:nitro` }),
      await first(caller, { model: MEASURED, provider: { sort: 'latency' } }),
    ]
    await expect.poll(inTurn, { interval: 100 }).toEqual(['beta', 'alpha'])
  }
  expect(await first(callers[1]!, { model: `${MEASURED}:floor` })).toBe('gamma')
})

const INSTRUCTIONS = 'Answer each question about rail yards briefly, and name your source. '.repeat(150)

/** A conversation of so many turns, each at the next API instance: what its calls cost, and who served them. */
async function converse(model: string, turns: number, before: (turn: number) => void = () => undefined) {
  const messages = [{ role: 'system', content: `${turns} questions. ${INSTRUCTIONS}` }]
  const seen = { costUsd: 0, cachedTurns: 0, providers: [] as string[] }
  for (let turn = 0; turn < turns; turn++) {
    before(turn)
    messages.push({ role: 'user', content: `Question ${turn} of ${model}` })
    const { url, key } = callers[turn % callers.length]!
    const response = await fetch(`${url}/v2/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages }),
    })
    expect(response.status).toBe(200)
    const { choices, usage } = (await response.json()) as {
      choices: [{ message: { content: string } }]
      usage: { cost: number; prompt_tokens_details?: { cached_tokens: number } }
    }
    messages.push({ role: 'assistant', content: choices[0].message.content })
    seen.costUsd += usage.cost
    if ((usage.prompt_tokens_details?.cached_tokens ?? 0) > 0) seen.cachedTurns++
    seen.providers.push(stack.providers.log.requests.at(-1)!.provider)
  }
  return seen
}

test('a conversation stays with one of four equal offers at every instance, as if there were no other', async () => {
  const alone = await converse(ALONE, 30)
  const { costUsd, cachedTurns, providers } = await converse(CACHED, 30)
  expect(new Set(providers).size).toBe(1)
  expect({ alone: alone.cachedTurns, cachedTurns }).toEqual({ alone: 29, cachedTurns: 29 })
  expect(costUsd / alone.costUsd).toBeLessThan(1.05)
})

test('a conversation leaves an offer that fails, stays with the next, and does not return', async () => {
  const { down } = stack.providers
  let first = ''
  const { cachedTurns, providers } = await converse(CACHED, 12, (turn) => {
    if (turn === 6) {
      first = stack.providers.log.requests.at(-1)!.provider
      down.add(first)
    }
    if (turn === 9) down.clear()
  })
  expect(new Set(providers.slice(0, 6))).toEqual(new Set([first]))
  expect(providers[6]).not.toBe(first)
  expect(new Set(providers.slice(6)).size).toBe(1)
  expect(cachedTurns).toBe(10)
  await expectLedgerInOrder(stack)
})
