import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { compareWithLedger } from '../../../src/billing/audit/balance-cache-audit.ts'
import { createHoldStore, type HoldStore } from '../../../src/billing/holds/hold-store.ts'
import { newCallId, newId } from '../../../src/core/kernel/ids.ts'
import type { Redis } from '../../../src/platform/redis/redis.ts'
import { accountKeys } from '../../../src/platform/redis/redis-keys.ts'
import { openHold } from '../../helpers/open-hold.ts'
import { testRedis } from '../../helpers/resources.ts'

describe('balance cache inspection', () => {
  let redis: Redis
  let holds: HoldStore
  const server = testRedis()
  beforeAll(() => {
    redis = server.connect('fail-fast')
    holds = createHoldStore(redis)
  })

  const amounts = fc.array(fc.bigInt({ min: 1n, max: 2n ** 60n }), { maxLength: 7 })

  test('sums holds exactly, beyond what a Lua number can', async () => {
    await fc.assert(
      fc.asyncProperty(amounts, async (amounts) => {
        const account = newId('acct')
        const balancePico = 2n ** 63n - 1n
        await holds.load(account, { balancePico, version: 1n })
        for (const amount of amounts) await openHold(redis, account, newCallId(), amount)
        const total = amounts.reduce((sum, amount) => sum + amount, 0n)
        expect(await holds.inspect(account)).toEqual({
          availPico: balancePico - total,
          heldPico: total,
          version: 1n,
          openHolds: amounts.length,
          holdsPico: total,
        })
      }),
      { numRuns: 40 },
    )
  })

  test('rebuilds any broken balance cache from the ledger and the open holds', async () => {
    const text = fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }).map(String)
    await fc.assert(
      fc.asyncProperty(amounts, text, text, async (amounts, avail, held) => {
        const account = newId('acct')
        const ledger = { balancePico: 2n ** 63n - 1n, version: 4n }
        await holds.load(account, ledger)
        for (const amount of amounts) await openHold(redis, account, newCallId(), amount)
        const sound = await holds.inspect(account)
        await redis.hset(accountKeys(account).record, { avail, held })
        expect(await holds.rebuild(account, ledger, false)).toBe(true)
        expect(await holds.inspect(account)).toEqual(sound)
      }),
      { numRuns: 40 },
    )
  })

  test('never rebuilds from a balance older than the one the balance cache knows, unless forced', async () => {
    const account = newId('acct')
    await holds.load(account, { balancePico: 500n, version: 5n })
    const older = { balancePico: 900n, version: 4n }
    expect(await holds.rebuild(account, older, false)).toBe(false)
    expect(await holds.balance(account)).toEqual({ availPico: 500n, heldPico: 0n, version: 5n })
    expect(await holds.rebuild(account, older, true)).toBe(true)
    expect(await holds.balance(account)).toEqual({ availPico: 900n, heldPico: 0n, version: 4n })
  })

  test('an account without a balance cache is reported as unloaded, not as drifted', async () => {
    const reading = await holds.inspect(newId('acct'))
    expect(compareWithLedger(reading, { balancePico: 5n, version: 1n })).toEqual({ kind: 'unloaded' })
  })
})
