import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HealthEffect } from '../../../src/core/failover/circuit-breaker.ts'
import { LEARNED_FOR_MS } from '../../../src/core/routing/learned-tokens.ts'
import {
  type BreakerBoard,
  createBreakerBoard,
  type Probe,
} from '../../../src/offer-health/circuit-breaker/breaker-board.ts'
import { followOfferHealth } from '../../../src/offer-health/circuit-breaker/offer-health.ts'
import { createLogger } from '../../../src/platform/observability/logger.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import {
  HEALTH_BREAKERS,
  HEALTH_CHANNEL,
  HEALTH_LEARNED,
  healthKeyTaken,
  healthProbe,
  healthWindow,
} from '../../../src/platform/redis/redis-keys.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'

const SETTINGS = { breakerFailures: 5, breakerWindowMs: 30_000, breakerCooldownMs: 10_000 }
const OFFER = 'acme/large-1'
/** Longer than any test waits for the first token of a probe. */
const PATIENCE_MS = 30_000
const FAILURE = { kind: 'failure' } as const
const SUCCESS = { kind: 'success' } as const

const logger = createLogger('silent', 'test')
let server: TestRedis
let nowMs: number
let clients: Redis[]
let boards: TestBoard[]
let accounts: number

beforeAll(async () => {
  server = await createTestRedis()
})
afterAll(() => server.close())
beforeEach(() => {
  nowMs = 1_700_000_000_000
  clients = []
  boards = []
  accounts = 0
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

type Health = ReturnType<BreakerBoard['health']>

/** A board as calls of many accounts see it: each of another one, unless an account is named. */
interface TestBoard extends Omit<BreakerBoard, 'health' | 'claimProbe' | 'report'> {
  health(offerId: string, accountId?: string): Health
  claimProbe(offerId: string, withinMs: number, accountId?: string): Promise<Probe | null>
  report(offerId: string, effect: HealthEffect, probe: Probe | null, accountId?: string): void
}

/** The board of one worker, whose clock may be ahead of Redis's. */
async function startBoard(aheadMs = 0): Promise<TestBoard> {
  const another = () => `acct_${++accounts}`
  const shared = await createBreakerBoard({
    redis: client(),
    subscriber: client(),
    settings: SETTINGS,
    now: () => nowMs + aheadMs,
    serverNow: async () => nowMs,
    logger,
  })
  const board: TestBoard = {
    health: (offerId, accountId = another()) => shared.health(offerId, accountId),
    claimProbe: (offerId, withinMs, accountId = another()) => shared.claimProbe(offerId, withinMs, accountId),
    report: (offerId, effect, probe, accountId = another()) =>
      shared.report(offerId, effect, probe, accountId),
    probeAnswers: (offerId, probe) => shared.probeAnswers(offerId, probe),
    learn: (...learned) => shared.learn(...learned),
    exclude: (...excluded) => shared.exclude(...excluded),
    keys: shared.keys,
    state: () => shared.state(),
    close: () => shared.close(),
  }
  boards.push(board)
  return board
}

const reachesState = (board: TestBoard, kind: string) =>
  eventually(() => expect(board.health(OFFER).kind).toBe(kind))

async function open(board: TestBoard): Promise<void> {
  for (let failure = 0; failure < SETTINGS.breakerFailures; failure++) board.report(OFFER, FAILURE, null)
  await reachesState(board, 'down')
}

describe('a breaker', () => {
  test('raises an alarm with its figures when it opens, again when a probe fails, and says when it closes', async () => {
    const errors = vi.spyOn(logger, 'error')
    const warnings = vi.spyOn(logger, 'warn')
    const infos = vi.spyOn(logger, 'info')
    const board = await startBoard()
    for (let call = 0; call < 3; call++) board.report(OFFER, SUCCESS, null)
    await open(board)
    nowMs += SETTINGS.breakerCooldownMs
    board.report(OFFER, FAILURE, await board.claimProbe(OFFER, PATIENCE_MS))
    await reachesState(board, 'down')
    nowMs += 2 * SETTINGS.breakerCooldownMs
    board.report(OFFER, SUCCESS, await board.claimProbe(OFFER, PATIENCE_MS))
    await reachesState(board, 'ready')
    const logged = (spy: typeof errors, field: string) =>
      spy.mock.calls.map(([fields]) => fields as object).filter((fields) => field in fields)
    expect(logged(errors, 'alarm')).toEqual([
      {
        ...{ alarm: 'breaker-opened', subject: OFFER, reason: 'failing' },
        ...{ failures: SETTINGS.breakerFailures, attempts: SETTINGS.breakerFailures + 3 },
      },
    ])
    expect(logged(warnings, 'alarm')).toMatchObject([
      { alarm: 'breaker-opened', subject: OFFER, probeFailed: true },
    ])
    expect(logged(infos, 'alarmsOver')).toMatchObject([
      { alarmsOver: ['breaker-opened', 'provider-refused'], subject: OFFER },
    ])
    for (const spy of [errors, warnings, infos]) spy.mockRestore()
  })

  test('opens for every worker after enough failures, wherever they happened', async () => {
    const [one, other, bystander] = [await startBoard(), await startBoard(), await startBoard()]
    for (let failure = 0; failure < 3; failure++) one.report(OFFER, FAILURE, null)
    for (let failure = 0; failure < 2; failure++) other.report(OFFER, FAILURE, null)
    await Promise.all([one, other, bystander].map((board) => reachesState(board, 'down')))
    expect(bystander.health(OFFER)).toEqual({ kind: 'down', untilMs: nowMs + SETTINGS.breakerCooldownMs })
    expect(bystander.state()).toEqual([{ subject: OFFER, breaker: 'open', reason: 'failing' }])
  })

  test('stays closed while less than half of the calls fail', async () => {
    const board = await startBoard()
    for (let call = 0; call < 20; call++) board.report(OFFER, SUCCESS, null)
    for (let failure = 0; failure < 6; failure++) board.report(OFFER, FAILURE, null)
    await board.close()
    expect(board.health(OFFER)).toEqual({ kind: 'ready' })
    expect(await clients[0]!.exists(HEALTH_BREAKERS)).toBe(0)
  })

  test('forgets failures that are older than its window', async () => {
    const board = await startBoard()
    for (let failure = 0; failure < 4; failure++) board.report(OFFER, FAILURE, null)
    await eventually(async () => expect(await windowTotal()).toBe(4))
    nowMs += SETTINGS.breakerWindowMs + 5_000
    board.report(OFFER, FAILURE, null)
    await eventually(async () => expect(await windowTotal()).toBe(1))
    expect(board.health(OFFER)).toEqual({ kind: 'ready' })
  })

  test('lets exactly one probe through across the fleet, and closes on its success', async () => {
    const [one, other] = [await startBoard(), await startBoard()]
    await open(one)
    await reachesState(other, 'down')
    nowMs += SETTINGS.breakerCooldownMs
    expect(one.health(OFFER)).toEqual({ kind: 'probe' })
    const claims = await Promise.all(
      [one, other, one, other].map((board) => board.claimProbe(OFFER, PATIENCE_MS)),
    )
    const probes = claims.filter((probe) => probe !== null)
    expect(probes).toHaveLength(1)
    one.report(OFFER, SUCCESS, probes[0]!)
    await reachesState(other, 'ready')
    nowMs += 1_000
    await reachesState(one, 'ready')
  })

  test('is probed fifteen seconds after a probe that failed began, however often they fail', async () => {
    const board = await startBoard()
    await open(board)
    nowMs += SETTINGS.breakerCooldownMs
    for (let probes = 0; probes < 3; probes++) {
      const probe = await board.claimProbe(OFFER, PATIENCE_MS)
      const claimedAt = nowMs
      nowMs += 10_000
      board.report(OFFER, FAILURE, probe)
      await reachesState(board, 'down')
      expect(board.health(OFFER)).toEqual({ kind: 'down', untilMs: claimedAt + 15_000 })
      nowMs = claimedAt + 15_000
      expect(board.health(OFFER)).toEqual({ kind: 'probe' })
    }
  })

  test('is free to be probed again soon after the worker of a probe died', async () => {
    const board = await startBoard()
    await open(board)
    nowMs += SETTINGS.breakerCooldownMs
    const probe = await board.claimProbe(OFFER, 10_000)
    const ttl = () => clients[0]!.pttl(healthProbe(OFFER))
    expect(await ttl()).toBeLessThanOrEqual(11_000)
    // An answer that has begun has time to prove the offer.
    nowMs += 9_000
    await clients[0]!.pexpire(healthProbe(OFFER), 2_000)
    board.probeAnswers(OFFER, probe!)
    await eventually(async () => expect(await ttl()).toBeGreaterThan(10_000))
  })

  test('a probe that showed nothing is free again', async () => {
    const board = await startBoard()
    await open(board)
    nowMs += SETTINGS.breakerCooldownMs
    board.report(OFFER, { kind: 'none' }, await board.claimProbe(OFFER, PATIENCE_MS))
    await eventually(async () => expect(await board.claimProbe(OFFER, PATIENCE_MS)).not.toBeNull())
  })

  test('a probe whose token is not the holder’s moves nothing', async () => {
    const board = await startBoard()
    await open(board)
    nowMs += SETTINGS.breakerCooldownMs
    const token = await board.claimProbe(OFFER, PATIENCE_MS)
    board.report(OFFER, SUCCESS, { subject: OFFER, token: 'somebody else', claimedAtMs: nowMs })
    board.report(OFFER, FAILURE, token)
    await reachesState(board, 'down')
  })

  test('a breaker closes while the answer of its probe still streams, once that has lasted', async () => {
    const [one, other] = [await startBoard(), await startBoard()]
    await open(one)
    await reachesState(other, 'down')
    nowMs += SETTINGS.breakerCooldownMs
    const probe = await one.claimProbe(OFFER, PATIENCE_MS)
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    one.probeAnswers(OFFER, probe!)
    vi.advanceTimersByTime(10_000)
    vi.useRealTimers()
    await reachesState(other, 'ready')
    // What becomes of the answer counts as any other's.
    one.report(OFFER, FAILURE, probe)
    await eventually(async () => expect(await windowTotal()).toBe(1))
    expect(other.health(OFFER)).toEqual({ kind: 'ready' })
  })

  test('stays half-open when a probe’s answer begins and breaks', async () => {
    const board = await startBoard()
    await open(board)
    nowMs += SETTINGS.breakerCooldownMs
    const probe = await board.claimProbe(OFFER, PATIENCE_MS)
    board.probeAnswers(OFFER, probe!)
    board.report(OFFER, FAILURE, probe)
    await reachesState(board, 'down')
  })

  test('is kept for a probe for as long as its attempt may wait', async () => {
    const board = await startBoard()
    await open(board)
    nowMs += SETTINGS.breakerCooldownMs
    expect(await board.claimProbe(OFFER, 180_000)).not.toBeNull()
    expect(await clients[0]!.pttl(healthProbe(OFFER))).toBeGreaterThan(180_000)
  })

  test('opens and closes at one time for workers whose clocks differ', async () => {
    const [one, fast, slow] = [await startBoard(), await startBoard(60_000), await startBoard(-60_000)]
    await open(fast)
    await Promise.all([one, fast, slow].map((board) => reachesState(board, 'down')))
    expect(fast.health(OFFER)).toEqual({ kind: 'down', untilMs: nowMs + 60_000 + SETTINGS.breakerCooldownMs })
    nowMs += SETTINGS.breakerCooldownMs - 1
    for (const board of [one, fast, slow]) expect(board.health(OFFER).kind).toBe('down')
    nowMs += 1
    for (const board of [one, fast, slow]) expect(board.health(OFFER).kind).toBe('probe')
  })
})

describe('failures of one account', () => {
  const ODD = 'acct_odd'
  const many = (board: TestBoard, failures: number) => {
    for (let failure = 0; failure < failures; failure++) board.report(OFFER, FAILURE, null, ODD)
  }
  const isDownForOdd = (board: TestBoard) =>
    eventually(() => expect(board.health(OFFER, ODD).kind).toBe('down'))

  test('failures of one account open the breaker for its own calls alone, however many they are', async () => {
    const [one, other] = [await startBoard(), await startBoard()]
    for (let round = 0; round < 4; round++) {
      many(one, SETTINGS.breakerFailures)
      await Promise.all([one, other].map(isDownForOdd))
      expect(other.health(OFFER)).toEqual({ kind: 'ready' })
      nowMs += SETTINGS.breakerWindowMs
      const probe = await other.claimProbe(OFFER, PATIENCE_MS, ODD)
      other.report(OFFER, SUCCESS, probe, ODD)
      await eventually(() => expect(one.health(OFFER, ODD)).toEqual({ kind: 'ready' }))
    }
  })

  test('count a little for everybody, so that those of three accounts open the breaker for all', async () => {
    const board = await startBoard()
    many(board, 4)
    for (const account of ['acct_a', 'acct_a', 'acct_b']) board.report(OFFER, FAILURE, null, account)
    await reachesState(board, 'down')
    expect(board.state()).toEqual([{ subject: OFFER, breaker: 'open', reason: 'failing' }])
  })

  test('are no reason to leave an offer that serves others as often', async () => {
    const board = await startBoard()
    for (let call = 0; call < 8; call++) board.report(OFFER, SUCCESS, null)
    many(board, 7)
    await board.close()
    expect(board.state()).toEqual([])
  })

  test('are forgotten when the account does not come back', async () => {
    const board = await startBoard()
    many(board, SETTINGS.breakerFailures)
    await isDownForOdd(board)
    nowMs += SETTINGS.breakerCooldownMs + 60_000
    await eventually(async () => expect(await clients[0]!.hlen(HEALTH_BREAKERS)).toBe(0))
    expect(board.state()).toEqual([])
  })
})

describe('an offer that refuses us', () => {
  const BY_OFFER = { kind: 'refused', by: 'offer' } as const
  const BY_PROVIDER = { kind: 'refused', by: 'provider' } as const
  const SIBLING = 'acme/small-1'
  const THIRD = 'acme/third-1'
  const UNTRIED = 'acme/medium-1'
  const STRANGER = 'acme-too/large-1'

  test('is down at once, and for longer', async () => {
    const [one, other] = [await startBoard(), await startBoard()]
    one.report(OFFER, BY_OFFER, null)
    await reachesState(other, 'down')
    expect(other.health(OFFER)).toEqual({ kind: 'down', untilMs: nowMs + 6 * SETTINGS.breakerCooldownMs })
    expect(other.health(SIBLING)).toEqual({ kind: 'ready' })
  })

  /** Our key is refused at three offers, wherever the calls were. */
  async function refuseKey(one: TestBoard, other: TestBoard): Promise<void> {
    one.report(OFFER, BY_PROVIDER, null)
    other.report(SIBLING, BY_PROVIDER, null)
    other.report(THIRD, BY_PROVIDER, null)
    for (const board of [one, other]) await eventually(() => expect(board.health(UNTRIED).kind).toBe('down'))
  }

  test('for our key at three of its offers is down with all of them', async () => {
    const [one, other] = [await startBoard(), await startBoard()]
    await refuseKey(one, other)
    expect(other.health(STRANGER)).toEqual({ kind: 'ready' })
    expect(
      other
        .state()
        .map(({ subject }) => subject)
        .toSorted(),
    ).toEqual(['acme', OFFER, SIBLING, THIRD])
  })

  test('for our key at one offer only, however often, is down at that offer only', async () => {
    const board = await startBoard()
    for (let call = 0; call < 5; call++) board.report(OFFER, BY_PROVIDER, null)
    await reachesState(board, 'down')
    await board.close()
    expect(board.health(UNTRIED)).toEqual({ kind: 'ready' })
  })

  test.each([
    ['answers', SUCCESS],
    ['fails', FAILURE],
    ['limits the rate', { kind: 'rate-limited', retryAfterMs: 10 } as const],
  ])('is not taken for one with a wrong key while it %s at another', async (_name, effect) => {
    const [one, other] = [await startBoard(), await startBoard()]
    one.report(UNTRIED, effect, null)
    // The worker that saw it knows at once, the fleet within about a second.
    await eventually(async () => expect(await clients[0]!.exists(healthKeyTaken('acme'))).toBe(1))
    one.report(OFFER, BY_PROVIDER, null)
    for (const offerId of [SIBLING, THIRD]) other.report(offerId, BY_PROVIDER, null)
    await reachesState(other, 'down')
    await Promise.all([one.close(), other.close()])
    expect(await clients[0]!.hexists(HEALTH_BREAKERS, 'acme')).toBe(0)
  })

  test('a refusing offer raises one alarm for itself and one for its provider over all processes', async () => {
    const alarms = vi.spyOn(logger, 'error')
    const boards = [await startBoard(), await startBoard()] as const
    for (let call = 0; call < 5; call++) await refuseKey(...boards)
    nowMs += 6 * SETTINGS.breakerCooldownMs
    for (const board of boards) {
      board.report(UNTRIED, BY_PROVIDER, await board.claimProbe(UNTRIED, PATIENCE_MS))
    }
    await Promise.all(boards.map((board) => reachesState(board, 'down')))
    await Promise.all(boards.map((board) => board.close()))
    const raised = alarms.mock.calls.map(([fields]) => fields as { alarm: string; subject: string })
    const subjects = raised.map(({ alarm, subject }) => `${alarm} ${subject}`).toSorted()
    alarms.mockRestore()
    // The second board, which lost the race for the probe, reports an attempt of its own.
    const ofUntried = subjects.filter((raisedOne) => raisedOne.endsWith(UNTRIED))
    expect(ofUntried.length).toBeLessThanOrEqual(1)
    expect(subjects.filter((raisedOne) => !ofUntried.includes(raisedOne))).toEqual([
      'provider-refused acme',
      `provider-refused ${OFFER}`,
      `provider-refused ${SIBLING}`,
      `provider-refused ${THIRD}`,
    ])
  })

  test('comes back, with its provider’s others, when a probe of any of them is answered', async () => {
    const [one, other] = [await startBoard(), await startBoard()]
    await refuseKey(one, other)
    nowMs += 6 * SETTINGS.breakerCooldownMs
    const probe = await other.claimProbe(UNTRIED, PATIENCE_MS)
    expect(await one.claimProbe(UNTRIED, PATIENCE_MS)).toBeNull()
    other.report(UNTRIED, SUCCESS, probe)
    for (const board of [one, other])
      await eventually(() => expect(board.state().map(({ subject }) => subject)).not.toContain('acme'))
  })
})

describe('a prompt that took more tokens than can be held for', () => {
  const open = (board: TestBoard) =>
    board
      .state()
      .filter(({ breaker }) => breaker === 'open')
      .map(({ subject }) => subject)
      .toSorted()

  test('closes the offer to such prompts of its account, and to everybody’s after those of three accounts', async () => {
    const errors = vi.spyOn(logger, 'error')
    const [board, other] = [await startBoard(), await startBoard()]
    for (const account of ['acct_a', 'acct_a', 'acct_b']) {
      board.exclude(OFFER, 'text', account, { alarm: 'prompt-bound-exceeded' })
      await eventually(() => expect(open(other)).toContain(`${OFFER}#text#account:${account}`))
    }
    expect(open(other)).toEqual([`${OFFER}#text#account:acct_a`, `${OFFER}#text#account:acct_b`])
    other.exclude(OFFER, 'text', 'acct_c', { alarm: 'prompt-bound-exceeded' })
    await eventually(() => expect(open(board)).toContain(`${OFFER}#text`))
    expect(errors.mock.calls.map(([fields]) => fields)).toEqual(
      ['acct_a', 'acct_b', 'all accounts'].map((excludedFor) => ({
        alarm: 'prompt-bound-exceeded',
        excludedFor,
      })),
    )
    // The offer itself serves other content.
    expect(board.health(OFFER, 'acct_a').kind).toBe('ready')
    nowMs += 6 * 3_600_000
    expect(open(board)).toEqual([])
  })

  test('concerns other accounts and other content not at all', async () => {
    const health = await followOfferHealth({
      redis: client(),
      subscriber: client(),
      now: () => nowMs,
      serverNow: async () => nowMs,
      logger,
    })
    const board = await startBoard()
    board.exclude(OFFER, 'image+text', 'acct_a', {})
    await eventually(() => expect(health.excludes(OFFER, 'image+text', 'acct_a')).toBe(true))
    expect(health.excludes(OFFER, 'image+text', 'acct_b')).toBe(false)
    expect(health.excludes(OFFER, 'text', 'acct_a')).toBe(false)
    health.stop()
  })
})

describe('what an offer adds to prompts', () => {
  const follow = () =>
    followOfferHealth({
      redis: client(),
      subscriber: client(),
      now: () => nowMs,
      serverNow: async () => nowMs,
      logger,
    })

  test('learned tokens reach all processes, are the highest seen, and are announced when new', async () => {
    const errors = vi.spyOn(logger, 'error')
    const [board, other, health] = [await startBoard(), await startBoard(), await follow()]
    const learned = () => health.learnedTokens(OFFER, 'text')
    board.learn(OFFER, 'text', 640, { alarm: 'prompt-bound-exceeded' })
    await eventually(() => expect(learned()).toBe(640))
    other.learn(OFFER, 'text', 704, { alarm: 'prompt-bound-exceeded' })
    await eventually(() => expect(learned()).toBe(704))
    board.learn(OFFER, 'text', 128, { alarm: 'prompt-bound-exceeded' })
    const late = await follow()
    expect(late.learnedTokens(OFFER, 'text')).toBe(704)
    expect(errors.mock.calls).toHaveLength(1)
    for (const each of [health, late]) each.stop()
  })

  test('to text it adds to all content, and what it adds to images only there and at this offer', async () => {
    const [board, health] = [await startBoard(), await follow()]
    board.learn(OFFER, 'text', 640, {})
    board.learn(OFFER, 'image+text', 2_048, {})
    await eventually(() => expect(health.allLearned(OFFER)).toHaveLength(2))
    const known = ['text', 'audio+text', 'image+text'].map((kinds) => health.learnedTokens(OFFER, kinds))
    expect(known).toEqual([640, 640, 2_048])
    expect(health.learnedTokens(`${OFFER}-mini`, 'text')).toBe(0)
    health.stop()
  })

  test('is forgotten after a week, in Redis too', async () => {
    const [board, redis] = [await startBoard(), client()]
    board.learn(OFFER, 'text', 640, {})
    await eventually(async () => expect(await redis.hlen(HEALTH_LEARNED)).toBe(1))
    const health = await follow()
    nowMs += LEARNED_FOR_MS
    expect(health.learnedTokens(OFFER, 'text')).toBe(0)
    await startBoard()
    await eventually(async () => expect(await redis.hlen(HEALTH_LEARNED)).toBe(0))
    health.stop()
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

  test('the breaker board finds out by polling what no message announced', async () => {
    const board = await startBoard()
    await client().hset(HEALTH_BREAKERS, OFFER, `failing:${nowMs + 5_000}:5000`)
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
  const counts = await clients[0]!.hgetall(healthWindow(OFFER))
  return Object.values(counts).reduce((sum, count) => sum + Number(count), 0)
}
