import { beforeAll, describe, expect, test } from 'vitest'
import { createClearCachedResponses } from '../../src/calls/protocol/response-cache.ts'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { testStack } from '../helpers/resources.ts'
import { type Call, caller, completionOf, expectError, readStream, textOf } from './wire.ts'

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

describe('a request with x-shuntyard-cache', () => {
  const cached = { 'x-shuntyard-cache': '600' }
  const say = (content: string) => ({ model: 'test/plain', messages: [{ role: 'user', content }] })
  const stateOf = ({ headers }: Response) => headers.get('x-shuntyard-cache')

  test.each([false, true])(
    'is answered once by a provider, and then at no cost (stream: %s)',
    async (stream) => {
      const account = await stack.account('1.00')
      const by = caller(stack, account)
      const before = stack.providers.log.received
      const body = { ...say('Ask it twice.'), stream }
      const read = async (response: Response) => {
        const text = await response.text()
        const parsed = stream ? readStream(text).chunks : [JSON.parse(text)]
        return { id: parsed[0].id as string, said: parsed.map(({ choices, usage }) => ({ choices, usage })) }
      }
      const miss = await by(body, { headers: cached, url: first })
      expect(stateOf(miss)).toBe('miss')
      const original = await read(miss)
      const { metadata, ...same } = { ...body, metadata: { run: '2' } }
      for (const [url, sent] of [
        [second, { ...same, metadata }],
        [first, body],
      ] as const) {
        const hit = await by(sent, { headers: cached, url })
        expect([hit.status, stateOf(hit), hit.headers.get('x-shuntyard-cache-age')]).toEqual([
          200,
          'hit',
          '0',
        ])
        const repeat = await read(hit)
        expect(repeat.said).toEqual(original.said)
        expect(repeat.id).not.toBe(original.id)
      }
      expect(stack.providers.log.received).toBe(before + 1)
      await expect
        .poll(() => stack.postgres.callRecord.count({ where: { accountId: account.accountId } }))
        .toBe(3)
      await stack.settled(account.accountId)
      const records = await stack.postgres.callRecord.findMany({
        where: { accountId: account.accountId },
        orderBy: { id: 'asc' },
      })
      expect(records[0]!.chargePico).toBeGreaterThan(0n)
      for (const record of records.slice(1))
        expect(record).toMatchObject({
          ...{ chargePico: 0n, holdPico: 0n, status: 'completed', finishReason: 'stop' },
          labels: { cached: original.id },
        })
      const { balancePico } = await stack.postgres.account.findUniqueOrThrow({
        where: { id: account.accountId },
      })
      expect(balancePico).toBe(parseUsd('1.00') - records[0]!.chargePico)
      expect(await stack.command('audit')).toMatchObject({ code: 0 })
    },
  )

  test('is another one for another account, model, body, surface or age, and with zdr or a refusal to be stored', async () => {
    const account = await stack.account('1.00')
    const by = caller(stack, account)
    const body = say('Ask it of everyone.')
    await completionOf(await by(body, { headers: cached }))
    const stranger = caller(stack, await stack.account('1.00'))
    expect(stateOf(await stranger(body, { headers: cached }))).toBe('miss')
    for (const other of [
      { ...body, model: 'test/paced', max_tokens: 5 },
      { ...body, temperature: 0.5 },
      { ...body, stream: true },
    ])
      expect(stateOf(await by(other, { headers: cached }))).toBe('miss')
    const extended = await fetch(`${first}/v2/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json', ...cached },
      body: JSON.stringify(body),
    })
    expect(stateOf(extended)).toBe('miss')
    expect(stateOf(await by(body))).toBeNull()
    for (const provider of [{ zdr: true }, { data_collection: 'deny' }])
      for (let turn = 0; turn < 2; turn++)
        expect(stateOf(await by({ ...body, provider }, { headers: cached }))).toBe('miss')
    expect(stateOf(await by(body, { headers: cached }))).toBe('hit')
    expect(stateOf(await by(body, { headers: { 'x-shuntyard-cache': '0' } }))).toBeNull()
    const refused = await by(body, { headers: { 'x-shuntyard-cache': 'yes' } })
    expect((await expectError(refused, 400, 'invalid_request')).param).toBe('x-shuntyard-cache')
  })

  test('is not stored when it was cut off or failed, or after the account cleared its cache', async () => {
    const account = await stack.account('1.00')
    const by = caller(stack, account)
    const cut = { ...say('Cut this short.'), max_tokens: 3 }
    const broken = { ...say('Break this.'), model: 'test/cut', stream: true }
    for (const body of [cut, cut, broken, broken]) {
      const response = await by(body, { headers: cached })
      expect(stateOf(response)).toBe('miss')
      await response.text()
    }
    const body = say('Forget this.')
    await completionOf(await by(body, { headers: cached }))
    await completionOf(await by(body, { headers: cached }))
    expect(await createClearCachedResponses(stack.redis)(account.accountId)).toBe(1)
    expect(stateOf(await by(body, { headers: cached }))).toBe('miss')
  })

  test('counts against the rate limits of its key, and many at once are the same answer', async () => {
    const { accountId, key } = await stack.account('1.00')
    const by = caller(stack, { key })
    const body = say('Ask it when broke.')
    const miss = await by(body, { headers: cached })
    await completionOf(miss)
    const left = (response: Response) => Number(response.headers.get('x-ratelimit-remaining-requests'))
    const hit = await by(body, { headers: cached })
    expect(stateOf(hit)).toBe('hit')
    expect(left(hit)).toBe(left(miss) - 1)
    const fresh = { ...body, top_p: 0.5 }
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        by(fresh, { headers: cached, url: index % 2 ? first : second }).then(textOf),
      ),
    )
    expect(new Set(answers).size).toBe(1)
    await stack.settled(accountId)
    expect(await stack.command('audit')).toMatchObject({ code: 0 })
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
