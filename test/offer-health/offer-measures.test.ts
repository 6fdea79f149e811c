import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { HALF_LIFE_MS, SLOT_MS, slotOf } from '../../src/core/routing/measures.ts'
import {
  createMeasureLog,
  followOfferMeasures,
  type MeasureLog,
  type OfferMeasures,
} from '../../src/offer-health/offer-measures.ts'
import { createLogger } from '../../src/platform/observability/logger.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { healthMeasures } from '../../src/platform/redis/redis-keys.ts'
import { eventually } from '../helpers/eventually.ts'
import { createTestRedis, type TestRedis } from '../helpers/services.ts'

const OFFER = 'acme/large-1'
const OTHER = 'beta/large-1'
const logger = createLogger('silent', 'test')

let server: TestRedis
let redis: Redis
let nowMs: number
let closing: Array<() => unknown>

beforeAll(async () => {
  server = await createTestRedis()
})
afterAll(() => server.close())
beforeEach(() => {
  redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
  nowMs = 1_700_000_000_000
  closing = []
})
afterEach(async () => {
  for (const close of closing) await close()
  await redis.flushall()
  await redis.quit()
})

const now = () => nowMs
function openLog(): MeasureLog {
  const log = createMeasureLog({ redis, now, logger })
  closing.push(() => log.close())
  return log
}
async function follow(): Promise<OfferMeasures> {
  const measures = await followOfferMeasures({ redis, now, logger, pollMs: 10 })
  closing.push(() => measures.stop())
  return measures
}
const reads = (assertion: () => void) => eventually(assertion)

describe('measures', () => {
  test('measures of several workers are summed for every reader', async () => {
    const [one, two, measures] = [openLog(), openLog(), await follow()]
    for (const log of [one, two]) {
      for (let call = 0; call < 10; call++) {
        log.ending(OFFER, 'success')
        log.firstToken(OFFER, 250)
        log.speed(OFFER, 80)
      }
    }
    two.ending(OFFER, 'failure')
    two.ending(OTHER, 'rate-limited')
    await reads(() =>
      expect(measures.stats(OFFER).lastMinute).toEqual({ success: 20, failure: 1, 'rate-limited': 0 }),
    )
    expect(measures.stats(OFFER).firstTokenMs!.p50 / 250).toBeCloseTo(1, 1)
    expect(measures.stats(OFFER).tokensPerSecond!.p99 / 80).toBeCloseTo(1, 1)
    expect(measures.stats(OTHER)).toMatchObject({ firstTokenMs: null, lastMinute: { 'rate-limited': 1 } })
  })

  test('are known to who starts later, fade, and are forgotten by Redis itself', async () => {
    const log = openLog()
    log.firstToken(OFFER, 250)
    await log.close()
    const key = healthMeasures(slotOf(nowMs))
    expect(await redis.pttl(key)).toBeGreaterThan(15 * 60_000)
    expect((await follow()).stats(OFFER).firstTokenMs).not.toBeNull()
    nowMs += HALF_LIFE_MS + SLOT_MS
    expect((await follow()).stats(OFFER).firstTokenMs).toBeNull()
  })

  test('measures continue from one time slot to the next without double counting', async () => {
    const [log, measures] = [openLog(), await follow()]
    log.ending(OFFER, 'success')
    await reads(() => expect(measures.stats(OFFER).lastMinute.success).toBe(1))
    nowMs += SLOT_MS
    log.ending(OFFER, 'success')
    await reads(() => expect(measures.stats(OFFER).lastMinute.success).toBe(2))
    nowMs += 5 * SLOT_MS
    await reads(() => expect(measures.stats(OFFER).lastMinute.success).toBe(0))
    expect(measures.stats(OFFER).lastTenMinutes.success).toBe(2)
  })

  test('count the tokens of long prompts, and those that were read from a cache', async () => {
    const [log, measures] = [openLog(), await follow()]
    log.cacheUse(OFFER, {
      promptTokens: 2_000,
      completionTokens: 1,
      cachedTokens: 1_500,
      cacheWriteTokens: 300,
    })
    log.cacheUse(OFFER, { promptTokens: 3_000, completionTokens: 1 })
    log.cacheUse(OFFER, { promptTokens: 1_000, completionTokens: 1, cachedTokens: 900 })
    const use = { promptTokens: 5_000, readTokens: 1_500, writtenTokens: 300 }
    await reads(() => expect(measures.cacheUse(OFFER)).toEqual(use))
    expect(measures.cacheUse(OTHER)).toBeUndefined()
  })

  test('that cannot be read are passed over', async () => {
    await redis.hset(healthMeasures(slotOf(nowMs)), {
      nonsense: '1',
      [`t57 ${OFFER}`]: 'many',
      [`f ${OFFER}`]: '-3',
      [`s ${OFFER}`]: '4',
    })
    expect((await follow()).stats(OFFER).lastMinute).toEqual({ success: 4, failure: 0, 'rate-limited': 0 })
  })

  test('take a bounded place, in a worker and in Redis', async () => {
    const warned = vi.spyOn(logger, 'warn')
    const key = healthMeasures(slotOf(nowMs))
    for (let batch = 0; batch < 5; batch++) {
      const fields = Array.from({ length: 10_000 }, (_, index) => [`s acme/${batch}-${index}`, '1'])
      await redis.hset(key, Object.fromEntries(fields))
    }
    const log = openLog()
    for (let index = 0; index < 11_000; index++) log.ending(`beta/${index}`, 'success')
    log.ending('acme/0-0', 'success')
    await log.close()
    expect(await redis.hlen(key)).toBe(50_000)
    expect(warned.mock.calls.map(([fields]) => fields as unknown)).toEqual([{ dropped: 10_000 }])
    // What is counted already goes on being counted.
    const again = openLog()
    again.ending('acme/0-0', 'success')
    await again.close()
    expect(await redis.hget(key, 's acme/0-0')).toBe('2')
    warned.mockRestore()
  })
})
