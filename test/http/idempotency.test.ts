import { beforeAll, describe, expect, test } from 'vitest'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { testStack } from '../helpers/resources.ts'
import { type Call, caller, completionOf, expectError, readStream } from './wire.ts'

let call: Call
let accountId: string
let first: string
let second: string

const stack = testStack(() => ({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/paced': [{ at: 'alpha', model: 'words-40.rate-40' }],
    'test/flaky': [{ at: 'alpha', model: 'words-12.flaky-2' }],
    'test/cut': [{ at: 'alpha', model: 'words-12.cut-after-5' }],
  },
  apis: 2,
  // A busy machine must not let a claim lapse: the call would rightly reach the provider a second time.
  environment: { SHUTDOWN_GRACE_MS: '100', JOB_LOCK_MS: '30000' },
}))
beforeAll(async () => {
  const account = await stack.account('20.00')
  accountId = account.accountId
  call = caller(stack, account)
  ;[first, second] = stack.urls as [string, string]
})

let keys = 0
const newKey = () => ({ 'idempotency-key': `key ${++keys}` })

/** How often a prompt that only one test uses has reached the provider, and what was recorded of it. */
async function expectOneCall(id: string, before: number): Promise<void> {
  await stack.settled(accountId)
  expect(stack.providers.log.received).toBe(before + 1)
  expect(await stack.postgres.callRecord.count({ where: { id } })).toBe(1)
  expect(await stack.postgres.ledgerTransaction.count({ where: { id, kind: 'capture' } })).toBe(1)
}

describe('a repeat with the same Idempotency-Key', () => {
  test('attaches to the running call, at the same and at another instance, streaming', async () => {
    const before = stack.providers.log.received
    const headers = newKey()
    const body = { model: 'test/paced', stream: true }
    const original = await call(body, { headers, url: first })
    const reader = original.body!.getReader()
    // The answer is under way when the repeats come.
    const head = await reader.read()
    const repeats = await Promise.all(
      [first, second, second].map((url) => call(body, { headers, url }).then((response) => response.text())),
    )
    let rest = new TextDecoder().decode(head.value)
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      rest += new TextDecoder().decode(piece.value)
    const whole = readStream(rest)
    expect(whole.isDone).toBe(true)
    expect(whole.content.split(' ')).toHaveLength(40)
    for (const repeat of repeats) {
      const stream = readStream(repeat)
      expect(stream.chunks).toEqual(whole.chunks)
      expect(stream.isDone).toBe(true)
    }
    await expectOneCall(whole.chunks[0]!.id, before)
  })

  test('attaches to the running call, not streaming', async () => {
    const before = stack.providers.log.received
    const headers = newKey()
    const bodies = await Promise.all(
      [first, second, first, second].map(async (url) =>
        (await call({ model: 'test/paced' }, { headers, url })).text(),
      ),
    )
    expect(new Set(bodies).size).toBe(1)
    await expectOneCall(JSON.parse(bodies[0]!).id, before)
  })

  test('replays the answer after its end, to the byte, at every instance', async () => {
    const before = stack.providers.log.received
    const headers = newKey()
    const original = await call({ model: 'test/plain' }, { headers, url: first })
    const text = await original.text()
    for (const url of [first, second]) {
      const replay = await call({ model: 'test/plain' }, { headers, url })
      expect(replay.status).toBe(200)
      expect(await replay.text()).toBe(text)
      expect(replay.headers.get('x-ratelimit-limit-requests')).toBe('1000000')
    }
    await expectOneCall(JSON.parse(text).id, before)
  })

  test('replays a stream after its end', async () => {
    const before = stack.providers.log.received
    const headers = newKey()
    const body = { model: 'test/plain', stream: true }
    const original = readStream(await (await call(body, { headers, url: first })).text())
    const replay = readStream(await (await call(body, { headers, url: second })).text())
    expect(replay.chunks).toEqual(original.chunks)
    expect(replay.isDone).toBe(true)
    await expectOneCall(original.chunks[0]!.id, before)
  })

  test('replays a stream that broke off as what it was', async () => {
    const headers = newKey()
    const body = { model: 'test/cut', stream: true }
    const original = readStream(await (await call(body, { headers })).text())
    expect(original.last.error?.code).toBe('all_providers_failed')
    const replay = readStream(await (await call(body, { headers, url: second })).text())
    expect(replay.isDone).toBe(false)
    expect(replay.content).toBe(original.content)
    expect(replay.last.error?.code).toBe('all_providers_failed')
  })

  test('and another body is a 409 that says not to retry, while running and after', async () => {
    const headers = newKey()
    stack.providers.log.clear()
    const running = call({ model: 'test/paced' }, { headers })
    await stack.providers.log.arrived()
    const expectConflict = async () => {
      for (const url of [first, second]) {
        const response = await call({ model: 'test/paced', top_p: 0.5 }, { headers, url })
        const error = await expectError(response, 409, 'idempotency_conflict')
        expect(error.type).toBe('idempotency_error')
        expect(response.headers.get('x-should-retry')).toBe('false')
      }
    }
    await expectConflict()
    await completionOf(await running)
    await expectConflict()
  })

  test('the same key of another account starts a call of its own', async () => {
    const headers = newKey()
    const other = await stack.account('1.00')
    const mine = await completionOf(await call({ model: 'test/plain' }, { headers }))
    const theirs = await completionOf(await caller(stack, other)({ model: 'test/plain' }, { headers }))
    expect(theirs.id).not.toBe(mine.id)
  })

  test('runs the call again after it did not complete', async () => {
    const headers = newKey()
    await expectError(await call({ model: 'test/flaky' }, { headers }), 502, 'all_providers_failed')
    await completionOf(await call({ model: 'test/flaky' }, { headers }))
  })

  test('runs the call again after it was refused', async () => {
    const account = await stack.account('0.000001')
    const by = caller(stack, account)
    const headers = newKey()
    const body = { model: 'test/plain', max_tokens: 50 }
    await expectError(await by(body, { headers }), 402, 'insufficient_balance')
    await expectError(await by(body, { headers, url: second }), 402, 'insufficient_balance')
    const { code } = await stack.command('admin', 'account', 'credit', account.accountId, '--amount', '1.00')
    expect(code).toBe(0)
    await expect.poll(async () => (await by(body, { headers })).status).toBe(200)
    await expectError(await by({ ...body, temperature: 9 }, { headers }), 400, 'invalid_request')
  })

  test('is refused as the call beside it was', async () => {
    const by = caller(stack, await stack.account('0.000001'))
    const headers = newKey()
    const twins = await Promise.all(
      [first, second, first, second].map((url) =>
        by({ model: 'test/plain', max_tokens: 50 }, { headers, url }),
      ),
    )
    for (const twin of twins) await expectError(twin, 402, 'insufficient_balance')
  })

  test('gets the answer that its first caller did not wait for', async () => {
    const before = stack.providers.log.received
    const headers = newKey()
    const leave = new AbortController()
    const body = { model: 'test/paced', stream: true, messages: [{ role: 'user', content: 'Gone early.' }] }
    const original = await call(body, { headers, url: first, signal: leave.signal })
    expect(original.status).toBe(200)
    leave.abort()
    const repeat = readStream(await (await call(body, { headers, url: second })).text())
    expect(repeat.isDone).toBe(true)
    expect(repeat.content.split(' ')).toHaveLength(40)
    await expectOneCall(repeat.chunks[0]!.id, before)
  })
})

describe('an Idempotency-Key', () => {
  test('takes 1 to 255 printable characters', async () => {
    const longest = await call({ model: 'test/plain' }, { headers: { 'idempotency-key': 'x'.repeat(255) } })
    expect(longest.status).toBe(200)
    for (const key of ['', 'x'.repeat(256), 'grüße']) {
      const response = await call({ model: 'test/plain' }, { headers: { 'idempotency-key': key } })
      expect((await expectError(response, 400, 'invalid_request')).param).toBe('Idempotency-Key')
    }
  })

  test('sent by many at once is charged once', async () => {
    const account = await stack.account('1.00')
    const by = caller(stack, account)
    const headers = newKey()
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        by({ model: 'test/plain' }, { headers, url: index % 2 ? first : second }).then(completionOf),
      ),
    )
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
    await stack.settled(account.accountId)
    const { prompt_tokens: prompt, completion_tokens: completion } = answers[0]!.usage!
    const { balancePico } = await stack.postgres.account.findUniqueOrThrow({
      where: { id: account.accountId },
    })
    expect(balancePico).toBe(
      parseUsd('1.00') - (BigInt(prompt) * 1_000_000n + BigInt(completion) * 2_000_000n),
    )
  })
})

// Last, since it stops the first instance for good.
test('a call with an Idempotency-Key outlives its instance, and a repeat at another gets the whole answer', async () => {
  const before = stack.providers.log.received
  const headers = newKey()
  const body = { model: 'test/paced', messages: [{ role: 'user', content: 'Moving house.' }] }
  const original = call(body, { headers, url: first })
  await stack.providers.log.arrived(({ state }) => state === 'open')
  const stopped = stack.apis[0]!.stop()
  await expectError(await original, 503, 'overloaded')
  await stopped
  const repeat = await completionOf(await call(body, { headers, url: second }))
  expect(repeat.choices[0]!.message.content!.split(' ')).toHaveLength(40)
  await expectOneCall(repeat.id, before)
})
