import { expect, test } from 'vitest'
import { ask } from '../helpers/chat-client.ts'
import { untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const SETTLE_MS = 3_000
const MEASURED_MS = 10_000

const stack = testStack({ models: { 'test/plain': [{ at: 'alpha', model: 'words-12' }] } })
const caller = testAccount(stack, '1.00')

/** Commands that Redis ran since the statistics were reset, those inside scripts as well, by name. */
async function commands(): Promise<Map<string, number>> {
  const info = await stack.redis.info('commandstats')
  return new Map(
    [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name, calls]) => [name!, Number(calls)]),
  )
}

/**
 * Of an API instance, a dispatch worker and a settlement process together, inside scripts as well. Measured: 45. Of these 16
 * are the readings of the epoch by API and worker every half second, four commands each; 4 compare the version of keys; 3
 * are process reports. Locks of jobs that are due within the measured seconds make it more in some runs.
 */
const PER_SECOND_MAX = 52

test('an idle fleet sends Redis few commands, most of them to notice that it lost data', async () => {
  await ask(caller, { model: 'test/plain' })
  await untilIdle(stack)
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  await stack.redis.config('RESETSTAT')
  await new Promise((resolve) => setTimeout(resolve, MEASURED_MS))
  const counted = await commands()
  const perSecond = [...counted.values()].reduce((sum, calls) => sum + calls, 0) / (MEASURED_MS / 1_000)
  expect(perSecond).toBeGreaterThan(10)
  expect(perSecond, JSON.stringify([...counted])).toBeLessThan(PER_SECOND_MAX)
})
