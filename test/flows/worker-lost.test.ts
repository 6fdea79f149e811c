import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { QUEUE_PREFIX } from '../../src/platform/redis/redis-keys.ts'
import { countTextTokens } from '../../src/providers/count-tokens.ts'
import { expectBooksInOrder } from '../helpers/books.ts'
import { ask, type Caller, stream, streamed } from '../helpers/chat-client.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import type { Part } from '../helpers/stack-part.ts'

const LOCK_MS = 2_000
/** A lock, a check for stalled jobs, and time to start another worker. */
const TAKEN_OVER_WITHIN_MS = onBusyMachine(LOCK_MS * 2 + 8_000)
const WORDS = 60

let stack: TestStack
let caller: Caller
/** The one worker that runs when a test begins. */
let worker: Part
let whole: string

beforeAll(async () => {
  stack = await startStack({
    processes: true,
    environment: { JOB_LOCK_MS: String(LOCK_MS), SHUTDOWN_GRACE_MS: '5000' },
    models: {
      'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
      'test/hangs-once': [{ at: 'alpha', model: `words-${WORDS}.flaky-1-hang` }],
      'test/hangs-once-streaming': [{ at: 'alpha', model: `words-${WORDS}.flaky-1-hang-after-role.tag-b` }],
      // For streams that are cut off.
      'test/slowest': [{ at: 'alpha', model: `words-${WORDS}.rate-2` }],
      'test/slower': [{ at: 'alpha', model: `words-${WORDS}.rate-12` }],
      'test/quick': [{ at: 'alpha', model: `words-${WORDS}.rate-100` }],
    },
  })
  worker = stack.dispatch[0]!
  const { key } = await stack.account('5.00')
  caller = { url: stack.url, key }
  whole = (await ask(caller, { model: 'test/plain' })).text!
})
afterAll(() => stack?.close())

const record = (id: string) => stack.postgres.callRecord.findUniqueOrThrow({ where: { id } })

/** Ends the worker as told while another starts, which is `worker` from then on. */
async function replace(end: (old: Part) => Promise<void>): Promise<void> {
  const [other] = await Promise.all([stack.startDispatch(), end(worker)])
  worker = other
}

/** A call of this kind is at a provider: its worker has it. */
const reached = (segment: string) =>
  stack.providers.log.arrived(({ model, state }) => state === 'open' && model!.split('.').includes(segment))

describe('a dispatch worker that is killed', () => {
  test('before the first token of a stream: the call runs again elsewhere, whole, charged once', async () => {
    const opening = stream(caller, { model: 'test/hangs-once-streaming' })
    await reached('tag-b')
    await replace((old) => old.kill())
    const killedAt = Date.now()
    const answer = await (await opening).end
    expect(Date.now() - killedAt).toBeLessThan(TAKEN_OVER_WITHIN_MS)
    expect(answer).toMatchObject({ text: whole, done: true, finishReason: 'stop', errorCode: null })
    await expectBooksInOrder(stack)
    expect(await record(answer.id!)).toMatchObject({ status: 'completed', completionTokens: WORDS })
  })

  test('in the middle of a stream: the client keeps what it got, is told so before another comes, and pays for that', async () => {
    const open = await stream(caller, { model: 'test/slowest' })
    await open.said(30)
    await worker.kill()
    const answer = await open.end
    worker = await stack.startDispatch()
    expect(answer).toMatchObject({
      status: 200,
      done: false,
      finishReason: 'error',
      errorCode: 'all_providers_failed',
    })
    expect(whole.startsWith(answer.text)).toBe(true)
    await expectBooksInOrder(stack)
    const charged = await record(answer.id!)
    expect(charged.status).toBe('interrupted')
    expect(answer.text.length).toBeLessThan(whole.length)
    expect(charged.completionTokens).toBe(await countTextTokens(answer.text))
    expect(charged.chargePico).toBeLessThanOrEqual(charged.holdPico)
  })

  test('during a non-streaming call: the client gets a whole answer, charged once', async () => {
    const asking = ask(caller, { model: 'test/hangs-once' })
    await reached('flaky-1-hang')
    await replace((old) => old.kill())
    const killedAt = Date.now()
    const answer = await asking
    expect(Date.now() - killedAt).toBeLessThan(TAKEN_OVER_WITHIN_MS)
    expect(answer).toMatchObject({ status: 200, text: whole, finishReason: 'stop' })
    await expectBooksInOrder(stack)
  })
})

describe('a dispatch worker that is told to stop', () => {
  test('finishes the streams it has', async () => {
    const open = await Promise.all(Array.from({ length: 5 }, () => stream(caller, { model: 'test/quick' })))
    await Promise.all(open.map((one) => one.said(10)))
    await replace((old) => old.stop())
    for (const one of open) expect(await one.end).toMatchObject({ text: whole, done: true, errorCode: null })
    await expectBooksInOrder(stack)
  })

  test('hands back calls of which nothing was shown, and ends the others truthfully', async () => {
    stack.providers.reset()
    const hanging = ask(caller, { model: 'test/hangs-once' })
    const shown = await stream(caller, { model: 'test/slowest' })
    await Promise.all([reached('flaky-1-hang'), shown.said(1)])
    const stoppedAt = Date.now()
    await replace((old) => old.stop())
    expect(await hanging).toMatchObject({ status: 200, text: whole })
    expect(Date.now() - stoppedAt).toBeLessThan(onBusyMachine(15_000))
    expect(await shown.end).toMatchObject({ done: false, finishReason: 'error' })
    await expectBooksInOrder(stack)
    expect(await record(shown.soFar.id!)).toMatchObject({ status: 'interrupted' })
  })
})

describe('a dispatch worker that is paused for longer than its claim', () => {
  /** Stands still until the worker does. */
  let spare: Part
  beforeAll(async () => {
    spare = await stack.startDispatch()
    spare.pause()
  })

  /** Pauses the worker; the spare goes on in its place. */
  function pauseWorker(): void {
    spare.resume()
    worker.pause()
  }

  /** The one that took over is the worker of the next test. */
  function swap(): void {
    ;[worker, spare] = [spare, worker]
    spare.pause()
  }

  test('says nothing more to the client when it wakes, and does not charge a second time', async () => {
    stack.providers.reset()
    const open = await stream(caller, { model: 'test/slowest' })
    await open.said(30)
    pauseWorker()
    const answer = await open.end
    expect(answer).toMatchObject({ done: false, finishReason: 'error' })
    const saidBefore = answer.text
    worker.resume()
    await expect.poll(() => stack.providers.log.requests[0]?.state).not.toBe('open')
    await expectBooksInOrder(stack)
    expect(answer.text).toBe(saidBefore)
    const charged = await record(answer.id!)
    expect(charged.status).toBe('interrupted')
    expect(charged.completionTokens).toBe(await countTextTokens(answer.text))
    swap()
  })

  test('wakes to an answer that was given by another, and leaves it at that', async () => {
    stack.providers.reset()
    const asking = ask(caller, { model: 'test/hangs-once' })
    await reached('flaky-1-hang')
    pauseWorker()
    const answer = await asking
    expect(answer).toMatchObject({ status: 200, text: whole })
    worker.resume()
    await stack.providers.log.abortedBy()
    await expectBooksInOrder(stack)
    expect(await streamed(caller, { model: 'test/plain' })).toMatchObject({ text: whole, done: true })
    swap()
  })

  test('does not settle a call that another runs by then, although it has an answer', async () => {
    stack.providers.reset()
    const asking = ask(caller, { model: 'test/slower' })
    await reached('rate-12')
    pauseWorker()
    const pausedAt = Date.now()
    await expect.poll(() => stack.providers.log.received, { timeout: TAKEN_OVER_WITHIN_MS }).toBe(2)
    // Its own answer is complete by now, and waits for it in the socket.
    await expect.poll(() => stack.providers.log.requests[0]?.state).toBe('finished')
    worker.resume()
    const answer = await asking
    expect(answer).toMatchObject({ status: 200, text: whole })
    await expectBooksInOrder(stack)
    const { claimedAtMs } = await record(answer.id!)
    expect(Number(claimedAtMs)).toBeGreaterThan(pausedAt)
    swap()
  })

  test('alone: takes its own call over and still answers and charges once', async () => {
    const open = await stream(caller, { model: 'test/slower' })
    await open.said(30)
    worker.pause()
    const lock = `${QUEUE_PREFIX}:dispatch:${open.soFar.id}:lock`
    await expect.poll(() => stack.redis.exists(lock), { timeout: TAKEN_OVER_WITHIN_MS }).toBe(0)
    worker.resume()
    const answer = await open.end
    expect(whole.startsWith(answer.text)).toBe(true)
    expect(answer).toMatchObject(
      answer.done
        ? { text: whole, errorCode: null }
        : { finishReason: 'error', errorCode: 'all_providers_failed' },
    )
    await expectBooksInOrder(stack)
    const charged = await record(answer.id!)
    expect(charged.status).toBe(answer.done ? 'completed' : 'interrupted')
  })
})
