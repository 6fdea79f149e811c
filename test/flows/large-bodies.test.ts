import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { type AgentSurface, agentHistory } from '../helpers/agent-history.ts'
import { allAtOnce } from '../helpers/all-at-once.ts'
import { pngUrl } from '../helpers/content-parts.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

const MEGABYTE = 1024 * 1024
const BODY_BYTES = 8 * MEGABYTE
const CALLS = 12
const KEY_BYTES = 17 * MEGABYTE
const LONG = { context_length: 10_000_000, input_modalities: ['text', 'image'] }
/** With two calls of tools at each turn, 2,041 messages. */
const MANY_TURNS = 680
/**
 * A call that is not the first of its kind takes this much of the processor in one turn of an event loop, at most: ms, or
 * if that is more on this machine, as many times what it takes to read and to write the JSON of its body here.
 */
const TURN = { ms: 50, times: 3 }
const ADMISSION_TURN = { ms: 20, times: 5 }

let stack: TestStack

beforeAll(async () => {
  const models = {
    'test/sees': { input_modalities: ['text', 'image'], offers: [{ at: 'alpha', model: 'words-4' }] },
    'test/agent': { ...LONG, offers: [{ at: 'alpha', model: 'words-4' }] },
    'test/native': {
      ...LONG,
      offers: [{ at: 'beta', model: 'words-4', wire: 'anthropic-messages' as const }],
    },
    'test/held': { input_modalities: ['text', 'image'], offers: [{ at: 'alpha', model: 'words-4.held' }] },
  }
  const environment = {
    BODY_LIMIT_BYTES: String(KEY_BYTES),
    BODY_BYTES_PER_KEY: String(KEY_BYTES),
    TOKENS_PER_MINUTE: '1000000000',
  }
  stack = await startStack({
    models,
    environment,
    processes: ['api', 'dispatch'],
    durableRedis: true,
    databaseProxy: true,
  })
})
afterAll(() => stack?.close())

/** A call with an image that takes so many characters. */
const bodyOf = (bytes: number, model: string): string => {
  const image = pngUrl(256, 256).padEnd(bytes - (bytes % 4), 'A')
  const url = image.slice(0, image.length - ((image.length - 'data:image/png;base64,'.length) % 4))
  return JSON.stringify({
    model,
    max_tokens: 8,
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  })
}

async function post(key: string, body: string | Uint8Array<ArrayBuffer>) {
  const response = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  })
  const { error } = (await response.json()) as { error?: { code: string } }
  return { status: response.status, code: error?.code, retryAfter: response.headers.get('retry-after') }
}

const keptBodies = () => stack.postgres.callBody.count()

async function redisStats() {
  const info = await stack.redis.info()
  const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1])
  return { peakBytes: figure('used_memory_peak'), fileBytes: figure('aof_current_size') }
}

/** The most memory the API ever had, in bytes. */
async function apiPeakBytes(): Promise<number> {
  const status = await readFile(`/proc/${stack.apis[0]!.pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
}

const REFERENCE_TIMES = 5

/** The bound of a turn for a body, in ms of processor time. */
function boundOf({ ms, times }: typeof TURN, body: string): number {
  const before = process.threadCpuUsage()
  for (let time = 0; time < REFERENCE_TIMES; time++) JSON.stringify(JSON.parse(body))
  const { user, system } = process.threadCpuUsage(before)
  return Math.max(ms, (times * (user + system)) / 1_000 / REFERENCE_TIMES)
}

const CALLS_MAX = 8

/**
 * The longest turns of an event loop in the best of up to eight calls, in ms of processor time, which a busy machine makes
 * longer. A call whose turns are within the bounds is the last.
 */
async function turnsOf(
  surface: AgentSurface,
  key: string,
  body: string,
  bounds: { api: number; dispatch: number },
) {
  const parts = { api: stack.apis[0]!, dispatch: stack.dispatch[0]! }
  const best = { api: Number.POSITIVE_INFINITY, dispatch: Number.POSITIVE_INFINITY }
  const isWithin = () => best.api < bounds.api && best.dispatch < bounds.dispatch
  for (let call = 0; call < CALLS_MAX && !isWithin(); call++) {
    for (const part of Object.values(parts)) await part.longestTurnMs()
    const response = await fetch(`${stack.url}${surface}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    })
    expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 })
    for (const role of ['api', 'dispatch'] as const)
      best[role] = Math.min(best[role], await parts[role].longestTurnMs())
  }
  return best
}

test.each<[AgentSurface, string]>([
  ['/v2/chat/completions', 'test/agent'],
  ['/v2/messages', 'test/native'],
  ['/v2/responses', 'test/agent'],
])(
  'a history of an agent through %s, of 1 MB and of 15 MB with an image, holds up no event loop',
  async (surface, model) => {
    const { key } = await stack.account('500.00')
    const expectShortTurns = async (body: string, admission: typeof TURN) => {
      const bounds = { api: boundOf(admission, body), dispatch: boundOf(TURN, body) }
      const turns = await turnsOf(surface, key, body, bounds)
      expect(turns.api).toBeLessThan(bounds.api)
      expect(turns.dispatch).toBeLessThan(bounds.dispatch)
    }
    await expectShortTurns(agentHistory(surface, { model, textBytes: 1_000_000, turns: 200 }), ADMISSION_TURN)
    const long = agentHistory(surface, {
      model,
      textBytes: 12 * MEGABYTE,
      turns: MANY_TURNS,
      imageBytes: 3 * MEGABYTE,
    })
    expect(long.length).toBeGreaterThan(13 * MEGABYTE)
    await expectShortTurns(long, TURN)
  },
)

test('a large body waits sealed beside the queue, is answered, and is gone when its call has ended', async () => {
  const { key } = await stack.account('20.00')
  const asking = post(key, bodyOf(MEGABYTE, 'test/held'))
  await stack.providers.log.arrived(({ model, state }) => state === 'open' && model === 'words-4.held')
  expect(await keptBodies()).toBe(1)
  const [kept] = await stack.postgres.callBody.findMany()
  expect(Buffer.from(kept!.sealed).includes('AAAAAAAAAAAA')).toBe(false)
  const job = await stack.redis.hget(`${queuePrefix(0)}:dispatch:${kept!.callId}`, 'data')
  expect(job).toContain('"sealedBody":null')
  stack.providers.release()
  expect((await asking).status).toBe(200)
  await expect.poll(keptBodies).toBe(0)
})

test('a large body that PostgreSQL does not delete when its call has ended is gone once it does', async () => {
  const { key } = await stack.account('20.00')
  const asking = post(key, bodyOf(MEGABYTE, 'test/held'))
  await stack.providers.log.arrived(({ model, state }) => state === 'open' && model === 'words-4.held')
  stack.databaseProxy!.refuse()
  stack.providers.release()
  expect((await asking).status).toBe(200)
  // Settled behind the proxy as soon as it lets through again; until then nothing can have been deleted.
  expect(await keptBodies()).toBe(1)
  await delay(500)
  stack.databaseProxy!.restore()
  await expect.poll(keptBodies).toBe(0)
})

test('a large call whose client leaves before its claim leaves no body behind', async () => {
  const { key } = await stack.account('20.00')
  stack.dispatch[0]!.pause()
  const leaving = new AbortController()
  const body = bodyOf(MEGABYTE, 'test/sees')
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body, signal: leaving.signal }
  const gone = expect(fetch(`${stack.url}/v1/chat/completions`, init)).rejects.toThrow()
  await expect.poll(keptBodies).toBe(1)
  leaving.abort()
  await gone
  stack.dispatch[0]!.resume()
  await expect.poll(keptBodies).toBe(0)
  await untilIdle(stack)
})

test('many large calls of one key use bounded memory in the API and Redis and delay no other call', async () => {
  const { key } = await stack.account('50.00')
  // From here on no call has to wait for PostgreSQL, before which this busy process stands, to know its key.
  expect((await post(key, bodyOf(1_000, 'test/sees'))).status).toBe(200)
  const body = new TextEncoder().encode(bodyOf(BODY_BYTES, 'test/held'))
  const before = await redisStats()
  const memoryBefore = await apiPeakBytes()
  await stack.apis[0]!.longestTurnMs()
  // A machine that is busy with others sheds a call whose body is not stored in time: it comes again.
  const served = async (): ReturnType<typeof post> => {
    const answer = await post(key, body)
    return answer.status === 503 ? served() : answer
  }
  const answers = await allAtOnce(stack.providers, CALLS, served)
  const longestTurnMs = await stack.apis[0]!.longestTurnMs()

  const taken = Math.floor(KEY_BYTES / BODY_BYTES)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(taken)
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(CALLS - taken)
  for (const { code, retryAfter } of refused)
    expect({ code, retryAfter }).toEqual({ code: 'concurrency_limit_exceeded', retryAfter: '1' })
  const after = await redisStats()
  const grown = (await apiPeakBytes()) - memoryBefore
  expect(after.peakBytes - before.peakBytes).toBeLessThan(4 * MEGABYTE)
  expect(after.fileBytes - before.fileBytes).toBeLessThan(MEGABYTE)
  expect(grown).toBeLessThan(12 * KEY_BYTES)
  expect(longestTurnMs).toBeLessThan(1_000)
  await expect.poll(keptBodies).toBe(0)
  await expectLedgerInOrder(stack)
})

test('large calls are 503 while PostgreSQL is unavailable, and small ones continue', async () => {
  const { key } = await stack.account('20.00')
  expect((await post(key, bodyOf(1_000, 'test/sees'))).status).toBe(200)
  stack.databaseProxy!.refuse()
  expect(await post(key, bodyOf(MEGABYTE, 'test/sees'))).toMatchObject({
    status: 503,
    code: 'overloaded',
    retryAfter: '1',
  })
  expect((await post(key, bodyOf(1_000, 'test/sees'))).status).toBe(200)
  stack.databaseProxy!.restore()
  await expect.poll(async () => (await post(key, bodyOf(MEGABYTE, 'test/sees'))).status).toBe(200)
})
