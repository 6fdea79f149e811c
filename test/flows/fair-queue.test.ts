import { expect, test } from 'vitest'
import { ask } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, waitingCalls } from '../helpers/ledger.ts'
import { testStack } from '../helpers/resources.ts'

const FLOOD = 100
const SHARE = 8
const FLEX = 3

const stack = testStack({
  dispatchWorkers: 0,
  environment: {
    QUEUE_WAIT_MS: '170000',
    WORKER_CONCURRENCY: '4',
    ACCOUNT_QUEUE_SHARE: String(SHARE),
  },
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-2' }],
    'test/tiered': [{ at: 'beta', model: 'words-2', tier_percent: { flex: 50 } }],
    'test/held': [{ at: 'beta', model: 'words-2.held-0', tier_percent: { flex: 50 } }],
  },
})

test('a call of a quiet account behind a hundred of a flooding one is claimed among the first, flex calls before them last', async () => {
  const [flooding, quiet, patient] = await Promise.all(
    ['50.00', '5.00', '5.00'].map((usd) => stack.account(usd)),
  )
  const call = (key: string) => ask({ url: stack.url, key }, { model: 'test/plain', max_tokens: 4 })
  const tiered = { model: 'test/tiered', max_tokens: 4, service_tier: 'flex' }
  const flex = Array.from({ length: FLEX }, () =>
    ask({ url: stack.url, key: patient!.key, path: '/v2/chat/completions' }, tiered),
  )
  await expect.poll(() => waitingCalls(stack.redis)).toBe(FLEX)
  const flood = Array.from({ length: FLOOD }, () => call(flooding!.key))
  await expect.poll(() => waitingCalls(stack.redis)).toBe(FLEX + FLOOD)
  const one = call(quiet!.key)
  await expect.poll(() => waitingCalls(stack.redis)).toBe(FLEX + FLOOD + 1)

  await stack.startDispatch()
  expect((await one).status).toBe(200)
  for (const answer of await Promise.all([...flood, ...flex])) expect(answer).toMatchObject({ status: 200 })
  await expectLedgerInOrder(stack)
  const records = await stack.postgres.callRecord.findMany({ orderBy: { claimedAtMs: 'asc' } })
  const isFlex = ({ accountId }: { accountId: string }) => accountId === patient!.accountId
  const claims = records.filter((record) => !isFlex(record))
  const place = claims.findIndex(({ accountId }) => accountId === quiet!.accountId)
  // The workers' slots, and the flooding account's share, came before it.
  expect(place).toBeLessThan(SHARE + 5)
  expect(claims).toHaveLength(FLOOD + 1)
  const late = records.filter(isFlex)
  expect(late).toHaveLength(FLEX)
  for (const { claimedAtMs, promptTokens, completionTokens, chargePico, rateVersion } of late) {
    expect(claimedAtMs! >= claims.at(-1)!.claimedAtMs!).toBe(true)
    expect(chargePico).toBe(BigInt(promptTokens) * 500_000n + BigInt(completionTokens) * 1_000_000n)
    expect(rateVersion).toMatch(/-flex-50$/)
  }
})

test('flex calls that run for long leave half of the slots to the others, beyond their share too', async () => {
  const [busy, patient] = await Promise.all([stack.account('50.00'), stack.account('5.00')])
  const { url, providers } = stack
  const tiered = { model: 'test/held', max_tokens: 4, service_tier: 'flex' }
  const sent = () => providers.log.requests.filter(({ body }) => JSON.stringify(body).includes('held')).length
  const flex = Array.from({ length: FLEX }, () =>
    ask({ url, key: patient.key, path: '/v2/chat/completions' }, tiered),
  )
  await expect.poll(sent).toBe(2)
  const others = Array.from({ length: 3 * SHARE }, () =>
    ask({ url, key: busy.key }, { model: 'test/plain', max_tokens: 4 }),
  )
  for (const answer of await Promise.all(others)) expect(answer).toMatchObject({ status: 200 })
  expect(sent()).toBe(2)
  providers.release()
  await expect.poll(sent).toBe(FLEX)
  providers.release()
  for (const answer of await Promise.all(flex)) expect(answer).toMatchObject({ status: 200 })
})
