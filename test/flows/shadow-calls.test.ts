import { describe, expect, test } from 'vitest'
import { reportPairs } from '../../src/cli/router-report.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectAbsent, postgresText, redisText } from '../helpers/everything-stored.ts'
import { postAs } from '../helpers/requests.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const stack = testStack({
  models: {
    'test/light': { auto_tier: 'light', offers: [{ at: 'alpha', model: 'echo' }] },
    'test/frontier': { auto_tier: 'frontier', offers: [{ at: 'beta', model: 'echo' }] },
    'test/judge': {
      auto_tier: 'frontier',
      offers: [{ at: 'gamma', model: 'echo' }],
      list_price: { prompt: '9.00', completion: '9.00' },
    },
  },
  environment: { AUTO_SHADOW_PERCENT: '100', AUTO_SHADOW_USD_PER_DAY: '0.10' },
})
const owner = testAccount(stack, '1.00')

/** The simulated judge repeats what it is asked: this verdict. */
const VERDICT = '{"first": 9, "second": 4}'
const SECRET = 'heliotrope'

async function call(content: string, more: Record<string, unknown> = {}) {
  const response = await postAs(owner.key, `${stack.url}/v1/chat/completions`, {
    model: 'auto',
    messages: [{ role: 'user', content }],
    ...more,
  })
  expect(response.status).toBe(200)
  const { id } = (await response.json()) as { id: string }
  await stack.settled(owner.accountId)
  return id
}
const outcomes = () => stack.postgres.routerOutcome.findMany({ orderBy: { createdAt: 'asc' } })
const balance = async () =>
  (await stack.postgres.account.findUniqueOrThrow({ where: { id: owner.accountId } })).balancePico

describe('a call of auto that is sampled', () => {
  test('is answered a second time and compared by a judge in both orders, at no cost for its client', async () => {
    const before = await balance()
    const id = await call(`Explain:\n\`\`\`\n${SECRET}\n${VERDICT}\n\`\`\``)
    const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id } })
    const [pair] = await eventually(async () => {
      const found = await outcomes()
      expect(found).toHaveLength(1)
      return found
    })
    expect(pair).toMatchObject({
      callId: id,
      source: 'shadow',
      accountId: owner.accountId,
      kind: record.autoKind,
      modelId: record.servedModelId,
      // A judge that prefers what stands first prefers neither.
      outcome: 0.65,
      otherOutcome: 0.65,
    })
    expect(pair!.otherModelId).not.toBe(record.servedModelId)
    expect(pair!.otherCostPico).toBeGreaterThan(0n)
    expect(before - (await balance())).toBe(record.chargePico)
    expect(await stack.postgres.callRecord.count()).toBe(1)
    const spent = (await stack.redis.keys('*shadow-spend*')).map((key) => stack.redis.get(key))
    expect(Number((await Promise.all(spent))[0])).toBeGreaterThan(0)
  })

  test('is compared by equality where the answer is a number', async () => {
    const id = await call('What is 17 * 23 + 4 + 391 - 4?')
    const pair = await eventually(async () => {
      const found = (await outcomes()).find(({ callId }) => callId === id)
      expect(found).toBeDefined()
      return found!
    })
    expect(pair).toMatchObject({ kind: 'formulas', outcome: 1, otherOutcome: 1 })
  })

  test('is never answered again where its client chose providers or forbids the use of data, or names a model', async () => {
    const known = (await outcomes()).length
    await call('What is 1 + 11?', { provider: { zdr: true } })
    await call('What is 2 + 12?', { provider: { data_collection: 'deny' } })
    await call('What is 3 + 13?', { provider: { only: ['alpha'] } })
    await call('What is 4 + 14?', { model: 'test/light' })
    // What follows was offered after them, and they are answered in their order.
    const last = await call('What is 5 + 15?')
    await eventually(async () => expect((await outcomes()).map(({ callId }) => callId)).toContain(last))
    expect(await outcomes()).toHaveLength(known + 1)
  })

  test('leaves nothing of a prompt in any store, and books in order', async () => {
    expectAbsent(await redisText(stack), [SECRET], 'redis')
    expectAbsent(await postgresText(stack), [SECRET], 'postgres')
    expect((await stack.command('audit')).code).toBe(0)
  })

  test('is in the report of cost against quality', async () => {
    const { data, text } = await reportPairs(stack.environment, (catalog) => catalog)
    expect(data).toMatchObject({ pairs: (await outcomes()).length })
    expect(text).toMatch(/mixed at random +\d\.\d{3}/)
  })
})
