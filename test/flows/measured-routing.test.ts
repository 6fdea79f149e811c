import { beforeAll, expect, test } from 'vitest'
import { ask, type Caller } from '../helpers/chat-client.ts'
import { testStack } from '../helpers/resources.ts'

const MEASURED = 'test/measured'
/** The same client at two API instances. */
let callers: Caller[]

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
