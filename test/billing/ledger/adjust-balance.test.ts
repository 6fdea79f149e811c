import { beforeAll, describe, expect, test } from 'vitest'
import { auditLedger } from '../../../src/billing/audit/ledger-audit.ts'
import { createHoldStore } from '../../../src/billing/holds/hold-store.ts'
import { type AdjustmentDependencies, adjustBalance } from '../../../src/billing/ledger/adjust-balance.ts'
import { newCallId, newId } from '../../../src/core/kernel/ids.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import type { Redis } from '../../../src/platform/redis/redis.ts'
import { openTestAccount } from '../../helpers/billing.ts'
import { openHold } from '../../helpers/open-hold.ts'
import { testLedger, testRedis } from '../../helpers/resources.ts'

const OPENING_PICO = 1_000n

describe('an adjustment', () => {
  let redis: Redis
  let deps: AdjustmentDependencies

  const ledger = testLedger()
  const server = testRedis()
  beforeAll(() => {
    redis = server.connect()
    const holds = createHoldStore(redis)
    deps = { postgres: ledger.postgres, holds }
  })

  const loadedAccount = async () => {
    const accountId = await openTestAccount(ledger.postgres, OPENING_PICO)
    await deps.holds.load(accountId, { balancePico: OPENING_PICO, version: 1n })
    return accountId
  }
  const adjust = (accountId: string, amountPico: bigint, eventId = newId('evt')) =>
    adjustBalance({ accountId, eventId, amountPico: picoUsd(amountPico), reason: 'a mistake of ours' }, deps)

  test('is a new transaction with its reason, up or down, and spendable at once', async () => {
    const accountId = await loadedAccount()
    expect(await adjust(accountId, 500n)).toMatchObject({ balancePico: 1_500n, version: 2n, posted: true })
    expect(await adjust(accountId, -700n)).toMatchObject({
      balancePico: 800n,
      version: 3n,
      isSpendable: true,
    })
    expect(await deps.holds.balance(accountId)).toEqual({ availPico: 800n, heldPico: 0n, version: 3n })
    const entries = await ledger.postgres.ledgerEntry.findMany({
      where: { kind: 'adjustment', ledgerAccount: `customer:${accountId}` },
    })
    expect(entries.map((entry) => entry.amountPico).sort()).toEqual([-700n, 500n])
    const { checks } = await auditLedger(ledger.postgres)
    expect(checks.filter((check) => check.broken > 0)).toEqual([])
  })

  test('keeps the account locked for no longer than a second when Redis does not respond', async () => {
    const accountId = await loadedAccount()
    const { postgres } = ledger
    const balance = () => postgres.account.findUniqueOrThrow({ where: { id: accountId } })
    server.pause()
    try {
      await expect(adjust(accountId, -700n)).rejects.toThrow('redis does not respond within a second')
      await postgres.$queryRaw`SELECT id FROM accounts WHERE id = ${accountId} FOR UPDATE NOWAIT`
      expect((await balance()).balancePico).toBe(OPENING_PICO)
    } finally {
      server.resume()
    }
    await adjust(accountId, -700n)
    expect(await deps.holds.balance(accountId)).toEqual({ availPico: 300n, heldPico: 0n, version: 2n })
  })

  test('of one event is made once; of another amount it is refused', async () => {
    const accountId = await loadedAccount()
    const eventId = newId('evt')
    await adjust(accountId, -300n, eventId)
    expect(await adjust(accountId, -300n, eventId)).toMatchObject({ balancePico: 700n, posted: false })
    await expect(adjust(accountId, -200n, eventId)).rejects.toThrow('reference of another adjustment')
    expect(await deps.holds.balance(accountId)).toMatchObject({ availPico: 700n, heldPico: 0n })
  })

  test('takes nothing that a running call holds, and nothing that is not there', async () => {
    const accountId = await loadedAccount()
    await openHold(redis, accountId, newCallId(), 600n)
    await expect(adjust(accountId, -401n)).rejects.toThrow('only 0.0000000004 USD is available')
    expect(await deps.holds.balance(accountId)).toEqual({ availPico: 400n, heldPico: 600n, version: 1n })
    expect(await adjust(accountId, -400n)).toMatchObject({ balancePico: 600n })
    expect(await deps.holds.balance(accountId)).toEqual({ availPico: 0n, heldPico: 600n, version: 2n })
  })

  test('the recorded reason of an adjustment cannot be changed', async () => {
    const accountId = await loadedAccount()
    const eventId = newId('evt')
    await adjust(accountId, 1n, eventId)
    const change = ledger.postgres.$executeRawUnsafe(
      "UPDATE ledger_notes SET reason = 'another' WHERE id = $1",
      eventId,
    )
    await expect(change).rejects.toThrow('append-only')
  })
})
