import { beforeAll, describe, expect, test } from 'vitest'
import { idempotencyKeys } from '../../src/platform/redis/redis-keys.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { testStack } from '../helpers/resources.ts'
import { type Call, caller, completionOf, expectError, readStream } from '../http/wire.ts'

const WORDS = 60

let accountId: string
let call: Call
let first: string
let second: string

const stack = testStack({
  processes: ['dispatch'],
  apis: 2,
  databaseProxy: true,
  environment: { JOB_LOCK_MS: '2000', KEPT_REPLY_BYTES_MAX: '20000' },
  models: {
    'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
    'test/begun': [{ at: 'alpha', model: `words-${WORDS}.held-10` }],
    'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-60` }],
    'test/hangs-once': [{ at: 'alpha', model: `words-${WORDS}.flaky-1-hang-after-role.tag-b` }],
    'test/long': [{ at: 'alpha', model: 'words-4000' }],
  },
})
beforeAll(async () => {
  const account = await stack.account('20.00')
  accountId = account.accountId
  call = caller(stack, account)
  ;[first, second] = stack.urls as [string, string]
})

let keys = 0
const newKey = () => ({ 'idempotency-key': `key ${++keys}` })

/** Breaks the connections over which API instances hear frames: what is published meanwhile is lost. */
async function deafen(): Promise<void> {
  const list = (await stack.redis.client('LIST')) as string
  const ids = [...list.matchAll(/^id=(\d+).* name=shuntyard-api-replies /gm)].map(([, id]) => id!)
  for (const id of ids) await stack.redis.client('KILL', 'ID', id)
}

const captures = () => stack.postgres.ledgerTransaction.count({ where: { accountId, kind: 'capture' } })

describe('a repeat that waits for a running call', () => {
  test('ends with the answer when that runs again at another worker', async () => {
    const headers = newKey()
    const body = { model: 'test/hangs-once', stream: true }
    const original = call(body, { headers, url: first }).then((response) => response.text())
    await stack.providers.log.arrived(({ model, state }) => state === 'open' && model!.includes('tag-b'))
    const repeat = call(body, { headers, url: second }).then((response) => response.text())
    const old = stack.dispatch[0]!
    stack.dispatch[0] = await stack.startDispatch()
    await old.kill()
    const whole = readStream(await original)
    expect(whole.isDone).toBe(true)
    const repeated = readStream(await repeat)
    expect(repeated.isDone).toBe(true)
    expect(repeated.content).toBe(whole.content)
    await expectLedgerInOrder(stack)
  })

  test('ends truthfully with the call when its worker dies in the middle of the answer, and frees the key: a later one runs again, and the key is charged once', async () => {
    stack.providers.reset()
    const headers = newKey()
    const body = { model: 'test/begun', stream: true }
    const before = await captures()
    const original = await call(body, { headers, url: first })
    const repeat = await call(body, { headers, url: second })
    const old = stack.dispatch[0]!
    await old.kill()
    const cut = (await Promise.all([original.text(), repeat.text()])).map(readStream)
    for (const one of cut) {
      expect(one.content).not.toBe('')
      expect(one.isDone).toBe(false)
      expect(one.last.error).toBeDefined()
    }
    stack.dispatch[0] = await stack.startDispatch()
    await untilIdle(stack)
    stack.providers.reset()
    const later = await call(body, { headers, url: second })
    await stack.providers.log.arrived(({ state }) => state === 'open')
    stack.providers.release()
    expect(readStream(await later.text()).isDone).toBe(true)
    await expectLedgerInOrder(stack)
    expect(await captures()).toBe(before + 1)
  })

  test('gets the end of the answer although the last frames were lost on their way', async () => {
    const headers = newKey()
    const body = { model: 'test/steady', stream: true }
    const original = await call(body, { headers, url: first })
    const repeat = await call(body, { headers, url: second })
    const texts = Promise.all([original.text(), repeat.text()])
    const isRunning = () =>
      stack.providers.log.requests.some(({ model, state }) => model?.includes('rate-60') && state === 'open')
    // Deaf until the provider has said everything.
    const deafUntilItsEnd = async () => {
      await deafen()
      return isRunning()
    }
    await expect.poll(deafUntilItsEnd, { interval: 10 }).toBe(false)
    await deafen()
    const [whole, repeated] = (await texts).map(readStream)
    expect(repeated!.isDone).toBe(true)
    expect(repeated!.content).toBe(whole!.content)
    await expectLedgerInOrder(stack)
  })

  test('a repeat learns that the answer is too long to keep, and the call is charged once', async () => {
    const headers = newKey()
    const body = { model: 'test/long', max_tokens: 10_000 }
    const before = await captures()
    const { id } = await completionOf(await call(body, { headers, url: first }))
    for (const url of [first, second]) {
      const response = await call(body, { headers, url })
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect((await expectError(response, 409, 'idempotency_conflict')).message).toContain(id)
    }
    await expectLedgerInOrder(stack)
    expect(await captures()).toBe(before + 1)
  })
})

describe('admission that takes longer than the claim of its Idempotency-Key', () => {
  test('runs and charges one call for it and its retry', async () => {
    const account = await stack.account('1.00')
    const by = caller(stack, account)
    // The key is known at both instances; the balance is not in Redis, and PostgreSQL says nothing for now.
    for (const url of [first, second]) await by({ model: 'unknown' }, { url })
    const before = stack.providers.log.received
    const headers = newKey()
    stack.databaseProxy!.swallow()
    const slow = by({ model: 'test/plain' }, { headers, url: first })
    const claims = () => stack.redis.keys(idempotencyKeys(0).record(account.accountId, '*'))
    await expect.poll(claims).toHaveLength(1)
    await stack.redis.del(await claims())
    const retry = by({ model: 'test/plain' }, { headers, url: second })
    await expect.poll(claims).toHaveLength(1)
    stack.databaseProxy!.restore()
    const answers = await Promise.all([slow, retry].map(async (response) => completionOf(await response)))
    const ids = new Set(answers.map(({ id }) => id))
    expect(ids.size).toBe(1)
    await stack.settled(account.accountId)
    expect(stack.providers.log.received).toBe(before + 1)
    const where = { accountId: account.accountId, kind: 'capture' as const }
    expect(await stack.postgres.ledgerTransaction.count({ where })).toBe(1)
  })
})

describe('repeats', () => {
  test('count against the request limit of their key', async () => {
    const account = await stack.account('1.00', { requestsPerMinute: 5 })
    const by = caller(stack, account)
    const headers = newKey()
    const remaining: Array<string | null> = []
    for (let count = 0; count < 5; count++) {
      const response = await by({ model: 'test/plain' }, { headers })
      expect(response.status).toBe(200)
      remaining.push(response.headers.get('x-ratelimit-remaining-requests'))
      await response.text()
    }
    expect(remaining).toEqual(['4', '3', '2', '1', '0'])
    const refused = await by({ model: 'test/plain' }, { headers })
    await expectError(refused, 429, 'rate_limit_exceeded')
    expect(refused.headers.get('retry-after')).not.toBeNull()
  })
})
