import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ask, stream } from '../helpers/chat-client.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { openEvents } from '../helpers/open-events.ts'
import { openCalls } from '../helpers/open-hold.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

/** A tenth of a second; the slow answers take four when nobody ends them. */
const ABORT_WITHIN_MS = onBusyMachine(2_000)

let accountId: string
let keyId: string

const stack = testStack({
  environment: { SLOW_CLIENT_BUFFER_BYTES: '65536', DEFAULT_COMPLETION_LIMIT: '50000' },
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/slow': [{ at: 'alpha', model: 'words-2000.rate-50' }],
    'test/native': [{ at: 'delta', model: 'words-2000.rate-50', wire: 'anthropic-messages' }],
    'test/hangs': [{ at: 'alpha', model: 'hang' }],
    'test/silent': [{ at: 'alpha', model: 'hang-after-role' }],
    'test/flood': {
      max_output_tokens: 60_000,
      offers: [{ at: 'alpha', model: 'words-50000.burst-20' }],
    },
  },
})
const caller = testAccount(stack, '5.00')
beforeAll(() => {
  ;({ accountId, keyId } = caller)
})
beforeEach(() => stack.providers.reset())
afterEach(async () => {
  await expectLedgerInOrder(stack)
  expect(await openCalls(stack.redis, accountId, keyId)).toBe(0)
})

/** Milliseconds from now until the provider sees its request abandoned. */
async function abortedAfterMs(): Promise<number> {
  const leftAt = performance.now()
  await stack.providers.log.abortedBy()
  return performance.now() - leftAt
}

const lastRecord = () => stack.postgres.callRecord.findFirstOrThrow({ orderBy: { id: 'desc' } })

describe('a client that hangs up', () => {
  test('in the middle of a stream: the upstream is aborted at once, and what was produced is charged', async () => {
    const open = await stream(caller, { model: 'test/slow' })
    await open.said(30)
    open.hangUp()
    expect(await abortedAfterMs()).toBeLessThan(ABORT_WITHIN_MS)
    await untilIdle(stack)
    const record = await lastRecord()
    expect(record).toMatchObject({ id: open.soFar.id, status: 'cancelled' })
    expect(record.completionTokens).toBeGreaterThan(0)
    expect(record.completionTokens).toBeLessThan(1_500)
    expect(record.chargePico).toBeGreaterThan(0n)
  })

  test('in the middle of a native stream: the same', async () => {
    const messages = [{ role: 'user', content: 'Tell me about rail yards.' }]
    const body = { model: 'test/native', max_tokens: 4_000, messages, stream: true }
    const open = await openEvents(caller, '/v1/messages', body)
    await open.until(() => open.events.filter(({ name }) => name === 'content_block_delta').length >= 3)
    open.hangUp()
    expect(await abortedAfterMs()).toBeLessThan(ABORT_WITHIN_MS)
    await untilIdle(stack)
    const record = await lastRecord()
    expect(record).toMatchObject({ requestedModel: 'test/native', status: 'cancelled' })
    expect(record.completionTokens).toBeGreaterThanOrEqual(3)
    expect(record.completionTokens).toBeLessThan(1_500)
    expect(record.chargePico).toBeGreaterThan(0n)
  })

  test.each([
    ['a stream', true],
    ['an answer given whole', false],
  ])(
    'after the status of its provider, before the first token of %s: the prompt is charged',
    async (_name, stream) => {
      const leaving = new AbortController()
      const refused = expect(ask(caller, { model: 'test/silent', stream }, leaving.signal)).rejects.toThrow()
      await stack.providers.log.arrived(({ model }) => model === 'hang-after-role')
      // What the same provider answered later has arrived, so its status has as well.
      await ask(caller, { model: 'test/plain' })
      leaving.abort()
      expect(await abortedAfterMs()).toBeLessThan(ABORT_WITHIN_MS)
      await refused
      await untilIdle(stack)
      const record = await stack.postgres.callRecord.findFirstOrThrow({
        where: { requestedModel: 'test/silent' },
        orderBy: { id: 'desc' },
      })
      expect(record).toMatchObject({ status: 'cancelled', completionTokens: 0, usageSource: 'counted' })
      expect(record.promptTokens).toBeGreaterThan(0)
      expect(record.chargePico).toBe(BigInt(record.promptTokens) * record.promptRatePico!)
      expect(record.chargePico).toBeLessThanOrEqual(record.holdPico)
    },
  )

  test('before the status of its provider: the upstream is aborted at once, and nothing is charged', async () => {
    const leaving = new AbortController()
    const refused = expect(
      ask(caller, { model: 'test/hangs', stream: true }, leaving.signal),
    ).rejects.toThrow()
    await stack.providers.log.arrived()
    leaving.abort()
    expect(await abortedAfterMs()).toBeLessThan(ABORT_WITHIN_MS)
    await refused
    await untilIdle(stack)
    expect(await lastRecord()).toMatchObject({ status: 'cancelled', chargePico: 0n })
  })

  test('during a non-streaming call: the upstream is aborted at once, and what was produced is charged', async () => {
    const leaving = new AbortController()
    const refused = expect(ask(caller, { model: 'test/slow' }, leaving.signal)).rejects.toThrow()
    await stack.providers.log.arrived()
    leaving.abort()
    expect(await abortedAfterMs()).toBeLessThan(ABORT_WITHIN_MS)
    await refused
    await untilIdle(stack)
    const record = await lastRecord()
    expect(record.status).toBe('cancelled')
    expect(record.completionTokens).toBeLessThan(1_500)
  })

  test('many at once: every upstream is aborted and every place freed', async () => {
    const open = await Promise.all(Array.from({ length: 30 }, () => stream(caller, { model: 'test/slow' })))
    await Promise.all(open.map((one) => one.said(5)))
    for (const one of open) one.hangUp()
    await expect.poll(() => stack.providers.log.aborted).toBe(30)
  })
})

describe('a client that does not read', () => {
  test('is cut off within bounds, and its upstream aborted', async () => {
    const { hostname, port } = new URL(stack.url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.pause()
    const body = JSON.stringify({
      model: 'test/flood',
      stream: true,
      messages: [{ role: 'user', content: 'Go on.' }],
    })
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${caller.key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    const before = process.memoryUsage().rss
    await stack.providers.log.abortedBy(undefined, 15_000)
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024)
    await untilIdle(stack)
    const record = await lastRecord()
    expect(record.status).toBe('cancelled')
    expect(record.completionTokens).toBeLessThan(50_000)
    socket.destroy()
  })
})
