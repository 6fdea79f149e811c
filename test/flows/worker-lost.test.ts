import { beforeAll, describe, expect, test } from 'vitest'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { countTextTokens } from '../../src/providers/count-tokens.ts'
import {
  ask,
  type Caller,
  type OpenStream,
  type StreamSoFar,
  stream,
  streamed,
  type WholeAnswer,
} from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { testStack } from '../helpers/resources.ts'
import type { Part } from '../helpers/stack-part.ts'

const WORDS = 60
/** Of the streams of `test/begun`, at the most. */
const BEGUN_CHARACTERS = 30

let caller: Caller
/** The one worker that runs when a group of tests begins. */
let worker: Part
let whole: string

// Calls that nobody takes over would be answered after two minutes, when the wait for a first token ends.
const stack = testStack(() => ({
  processes: ['dispatch'],
  environment: { SHUTDOWN_GRACE_MS: '5000', JOB_LOCK_MS: '2000' },
  models: {
    'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
    'test/hangs-once': [{ at: 'alpha', model: `words-${WORDS}.flaky-1-hang` }],
    'test/hangs-once-streaming': [{ at: 'alpha', model: `words-${WORDS}.flaky-1-hang-after-role.tag-b` }],
    'test/held': [{ at: 'alpha', model: `words-${WORDS}.held` }],
    'test/begun': [{ at: 'alpha', model: `words-${WORDS}.held-10` }],
    // Says its first words, and the others much later than a worker may take to stop.
    'test/stalls': [{ at: 'alpha', model: `words-${WORDS}.stall-after-10` }],
  },
}))
beforeAll(async () => {
  worker = stack.dispatch[0]!
  const { key } = await stack.account('5.00')
  caller = { url: stack.url, key }
  whole = (await ask(caller, { model: 'test/plain' })).text!
})

const record = (id: string) => stack.postgres.callRecord.findUniqueOrThrow({ where: { id } })

/** A call of this kind is at a provider: its worker has it. */
const reached = (segment: string) =>
  stack.providers.log.arrived(({ model, state }) => state === 'open' && model!.split('.').includes(segment))

const requestsOf = (segment: string) =>
  stack.providers.log.requests.filter(({ model }) => model!.split('.').includes(segment))

/** Opens a stream and awaits its first words. */
async function begun(model = 'test/begun'): Promise<OpenStream> {
  const open = await stream(caller, { model })
  await open.said(BEGUN_CHARACTERS)
  return open
}

/** What was shown of a stream that broke is a beginning of the answer, and is what it is charged for. */
async function expectChargedAsShown(answer: StreamSoFar): Promise<void> {
  expect(whole.startsWith(answer.text)).toBe(true)
  expect(answer.text.length).toBeLessThan(whole.length)
  const charged = await record(answer.id!)
  expect(charged.status).toBe('interrupted')
  expect(charged.completionTokens).toBe(await countTextTokens(answer.text))
  expect(charged.chargePico).toBeLessThanOrEqual(charged.holdPico)
}

describe('a dispatch worker that is killed', () => {
  let unbegun: StreamSoFar
  let cut: StreamSoFar
  let unstreamed: WholeAnswer
  beforeAll(async () => {
    const opening = stream(caller, { model: 'test/hangs-once-streaming' })
    const asking = ask(caller, { model: 'test/hangs-once' })
    const [open] = await Promise.all([begun('test/stalls'), reached('tag-b'), reached('flaky-1-hang')])
    await worker.kill()
    cut = await open.end
    worker = await stack.startDispatch()
    unbegun = await (await opening).end
    unstreamed = await asking
    await expectLedgerInOrder(stack)
  })

  test('before the first token of a stream: the call runs again elsewhere, whole, charged once', async () => {
    expect(unbegun).toMatchObject({ text: whole, done: true, finishReason: 'stop', errorCode: null })
    expect(await record(unbegun.id!)).toMatchObject({ status: 'completed', completionTokens: WORDS })
  })

  test('a stream of a killed worker keeps what was delivered, ends before another worker claims it, and is charged for that', async () => {
    expect(cut).toMatchObject({
      status: 200,
      done: false,
      finishReason: 'error',
      errorCode: 'all_providers_failed',
    })
    await expectChargedAsShown(cut)
  })

  test('during a non-streaming call: the client gets a whole answer, charged once', async () => {
    expect(unstreamed).toMatchObject({ status: 200, text: whole, finishReason: 'stop' })
    expect(await record(unstreamed.id!)).toMatchObject({ status: 'completed', completionTokens: WORDS })
  })
})

describe('a dispatch worker that receives SIGTERM', () => {
  let begunStreams: StreamSoFar[]
  let unshown: WholeAnswer
  let cut: StreamSoFar
  beforeAll(async () => {
    stack.providers.reset()
    const asking = ask(caller, { model: 'test/hangs-once' })
    const open = await Promise.all(Array.from({ length: 5 }, () => begun()))
    const [stalled] = await Promise.all([begun('test/stalls'), reached('flaky-1-hang')])
    const stopping = worker.stop()
    stack.providers.release()
    const starting = stack.startDispatch()
    begunStreams = await Promise.all(open.map(({ end }) => end))
    await stopping
    worker = await starting
    unshown = await asking
    cut = await stalled.end
    await expectLedgerInOrder(stack)
  })

  test('finishes the streams it has', () => {
    for (const answer of begunStreams)
      expect(answer).toMatchObject({ text: whole, done: true, errorCode: null })
  })

  test('hands back calls of which nothing was shown, and ends the others truthfully', async () => {
    expect(unshown).toMatchObject({ status: 200, text: whole })
    expect(cut).toMatchObject({ done: false, finishReason: 'error' })
    await expectChargedAsShown(cut)
  })
})

describe('a dispatch worker that is paused for longer than its claim', () => {
  /** Started when the worker has its calls: one that waits would get some of them, also while it is paused. */
  let spare: Part
  let shown: StreamSoFar
  let hung: WholeAnswer
  let held: WholeAnswer
  let pausedAt: number

  beforeAll(async () => {
    stack.providers.reset()
    const asking = [ask(caller, { model: 'test/hangs-once' }), ask(caller, { model: 'test/held' })] as const
    const [open] = await Promise.all([begun(), reached('flaky-1-hang'), reached('held')])
    spare = await stack.startDispatch()
    worker.pause()
    pausedAt = Date.now()
    // The answers that it was given are complete by now, and wait for it in its sockets.
    stack.providers.release()
    shown = await open.end
    hung = await asking[0]
    await eventually(() => expect(requestsOf('held').map(({ state }) => state)).toEqual(['finished', 'open']))
    worker.resume()
    await stack.providers.log.abortedBy(({ model }) => model!.includes('hang'))
    stack.providers.release()
    held = await asking[1]
    await expectLedgerInOrder(stack)
  })

  test('says nothing more to the client when it wakes, and does not charge a second time', async () => {
    expect(shown).toMatchObject({ done: false, finishReason: 'error' })
    await expectChargedAsShown(shown)
  })

  test('wakes to an answer that was given by another, and leaves it at that', async () => {
    expect(hung).toMatchObject({ status: 200, text: whole })
    expect(await streamed(caller, { model: 'test/plain' })).toMatchObject({ text: whole, done: true })
  })

  test('does not settle a call that another runs by then, although it has an answer', async () => {
    expect(held).toMatchObject({ status: 200, text: whole })
    const { claimedAtMs } = await record(held.id!)
    expect(Number(claimedAtMs)).toBeGreaterThan(pausedAt)
  })

  test('alone: takes its own call over and still answers and charges once', async () => {
    worker.pause()
    const open = await begun()
    spare.pause()
    const lock = `${queuePrefix(0)}:dispatch:${open.soFar.id}:lock`
    await expect.poll(() => stack.redis.exists(lock)).toBe(0)
    spare.resume()
    stack.providers.release()
    const answer = await open.end
    expect(whole.startsWith(answer.text)).toBe(true)
    expect(answer).toMatchObject(
      answer.done
        ? { text: whole, errorCode: null }
        : { finishReason: 'error', errorCode: 'all_providers_failed' },
    )
    await expectLedgerInOrder(stack)
    const charged = await record(answer.id!)
    expect(charged.status).toBe(answer.done ? 'completed' : 'interrupted')
  })
})
