import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createLogger } from '../../src/platform/logger.ts'
import { createRedis, type Redis } from '../../src/platform/redis.ts'
import { HEALTH_CHANNEL } from '../../src/platform/redis-keys.ts'
import { type BreakerBoard, createBreakerBoard } from '../../workers/breaker-board.ts'
import { createTestRedis, type TestRedis } from '../helpers/services.ts'

const SETTINGS = { breakerFailures: 5, breakerWindowMs: 30_000, breakerCooldownMs: 10_000 }
const OFFER = 'acme/large-1'
const FAILURE = { kind: 'failure' } as const
const SUCCESS = { kind: 'success' } as const

let server: TestRedis
let nowMs: number
let clients: Redis[]
let boards: BreakerBoard[]

beforeAll(async () => {
  server = await createTestRedis()
})
afterAll(() => server.close())
beforeEach(() => {
  nowMs = 1_700_000_000_000
  clients = []
  boards = []
})
afterEach(async () => {
  await Promise.all(boards.map((board) => board.close()))
  await clients[0]?.flushall()
  await Promise.all(clients.map((client) => client.quit()))
})

function client(): Redis {
  const redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
  clients.push(redis)
  return redis
}

/** The board of one worker. */
async function startBoard(): Promise<BreakerBoard> {
  const board = await createBreakerBoard({
    redis: client(),
    subscriber: client(),
    settings: SETTINGS,
    now: () => nowMs,
    logger: createLogger('silent', 'test'),
  })
  boards.push(board)
  return board
}

const reachesState = (board: BreakerBoard, kind: string) =>
  vi.waitFor(() => expect(board.health(OFFER).kind).toBe(kind), { timeout: 3_000, interval: 5 })

async function open(board: BreakerBoard): Promise<void> {
  for (let failure = 0; failure < SETTINGS.breakerFailures; failure++) board.report(OFFER, FAILURE, null)
  await reachesState(board, 'down')
}

describe('a breaker', () => {
  test('opens for every worker after enough failures, wherever they happened', async () => {
    const [one, other, bystander] = [await startBoard(), await startBoard(), await startBoard()]
    for (let failure = 0; failure < 3; failure++) one.report(OFFER, FAILURE, null)
    for (let failure = 0; failure < 2; failure++) other.report(OFFER, FAILURE, null)
    await Promise.all([one, other, bystander].map((board) => reachesState(board, 'down')))
    expect(bystander.state()).toEqual([
      {
        offerId: OFFER,
        breaker: 'open',
        reason: 'failing',
        untilMs: nowMs + SETTINGS.breakerCooldownMs,
        rateLimitedUntilMs: null,
      },
    ])
  })

  test('stays closed while less than half of the calls fail', async () => {
    const board = await startBoard()
    for (let call = 0; call < 20; call++) board.report(OFFER, SUCCESS, null)
    for (let failure = 0; failure < 6; failure++) board.report(OFFER, FAILURE, null)
    await board.close()
    expect(board.health(OFFER)).toEqual({ kind: 'ready' })
    expect(await clients[0]!.exists('sy:{health}:breakers')).toBe(0)
  })

  test('forgets failures that are older than its window', async () => {
    const board = await startBoard()
    for (let failure = 0; failure < 4; failure++) board.report(OFFER, FAILURE, null)
    await vi.waitFor(async () => expect(await windowTotal()).toBe(4))
    nowMs += SETTINGS.breakerWindowMs + 5_000
    board.report(OFFER, FAILURE, null)
    await vi.waitFor(async () => expect(await windowTotal()).toBe(1))
    expect(board.health(OFFER)).toEqual({ kind: 'ready' })
  })

  test('lets exactly one probe through across the fleet, and closes on its success', async () => {
    const [one, other] = [await startBoard(), await startBoard()]
    await open(one)
    await reachesState(other, 'down')
    nowMs += SETTINGS.breakerCooldownMs
    expect(one.health(OFFER)).toEqual({ kind: 'probe' })
    const claims = await Promise.all([one, other, one, other].map((board) => board.claimProbe(OFFER)))
    const tokens = claims.filter((token) => token !== null)
    expect(tokens).toHaveLength(1)
    one.report(OFFER, SUCCESS, tokens[0]!)
    await reachesState(other, 'ready')
    nowMs += 1_000
    await reachesState(one, 'ready')
  })

  test('reopens with twice the cooldown when the probe fails', async () => {
    const board = await startBoard()
    await open(board)
    nowMs += SETTINGS.breakerCooldownMs
    board.report(OFFER, FAILURE, await board.claimProbe(OFFER))
    await reachesState(board, 'down')
    expect(board.health(OFFER)).toEqual({ kind: 'down', untilMs: nowMs + 2 * SETTINGS.breakerCooldownMs })
  })

  test('a probe that showed nothing is free again', async () => {
    const board = await startBoard()
    await open(board)
    nowMs += SETTINGS.breakerCooldownMs
    board.report(OFFER, { kind: 'none' }, await board.claimProbe(OFFER))
    await vi.waitFor(async () => expect(await board.claimProbe(OFFER)).not.toBeNull())
  })

  test('a probe whose token is not the holder’s moves nothing', async () => {
    const board = await startBoard()
    await open(board)
    nowMs += SETTINGS.breakerCooldownMs
    const token = await board.claimProbe(OFFER)
    board.report(OFFER, SUCCESS, 'somebody else')
    board.report(OFFER, FAILURE, token)
    await reachesState(board, 'down')
  })

  test('an offer that refuses us is down at once, and for longer', async () => {
    const [one, other] = [await startBoard(), await startBoard()]
    one.report(OFFER, { kind: 'refused' }, null)
    await reachesState(other, 'down')
    expect(other.health(OFFER)).toEqual({ kind: 'down', untilMs: nowMs + 6 * SETTINGS.breakerCooldownMs })
  })
})

describe('a rate limit', () => {
  test('holds for the whole fleet until its time, and is no failure', async () => {
    const [one, other] = [await startBoard(), await startBoard()]
    for (let call = 0; call < 10; call++)
      one.report(OFFER, { kind: 'rate-limited', retryAfterMs: 2_000 }, null)
    expect(one.health(OFFER)).toEqual({ kind: 'rate-limited', untilMs: nowMs + 2_000 })
    await reachesState(other, 'rate-limited')
    nowMs += 2_000
    expect(other.health(OFFER)).toEqual({ kind: 'ready' })
  })
})

describe('the board', () => {
  test('knows what happened before it started', async () => {
    await open(await startBoard())
    expect((await startBoard()).health(OFFER).kind).toBe('down')
  })

  test('finds out by its poll what no message told it', async () => {
    const board = await startBoard()
    await client().hset('sy:{health}:breakers', OFFER, `failing:${nowMs + 5_000}:5000`)
    await reachesState(board, 'down')
  })

  test('survives messages it cannot read', async () => {
    const board = await startBoard()
    const publisher = client()
    for (const message of ['', 'null', '{}', '["breaker",1,2]', '["breaker","x","y"]', '["other","x","1"]']) {
      await publisher.publish(HEALTH_CHANNEL, message)
    }
    await open(board)
  })
})

async function windowTotal(): Promise<number> {
  const counts = await clients[0]!.hgetall(`sy:{health}:window:${OFFER}`)
  return Object.values(counts).reduce((sum, count) => sum + Number(count), 0)
}
