import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createKeyHasher } from '../../src/accounts/key-hash.ts'
import { createKeyStore } from '../../src/accounts/key-store.ts'
import { postLedger } from '../../src/billing/ledger/ledger-store.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { creditPosting } from '../../src/core/billing/postings.ts'
import { formatUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { eventIdOf } from '../../src/core/webhooks/event.ts'
import { recordEvent } from '../../src/webhooks/event-outbox.ts'
import { openTestAccount, openTestOperator, PLAIN_KEY, settlementOf } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

describe('the outbox of events', () => {
  const ledger = testLedger()

  const eventsOf = (accountId: string) =>
    ledger.postgres.event.findMany({
      where: { accountId },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      select: { id: true, type: true, data: true },
    })
  const typesOf = async (accountId: string) => (await eventsOf(accountId)).map((event) => event.type)
  const accountWith = async (balancePico: bigint, lowBalancePico: bigint | null) => {
    const id = await openTestAccount(ledger.postgres, balancePico)
    await ledger.postgres.account.update({ where: { id }, data: { lowBalancePico } })
    return id
  }
  const credit = (accountId: string, amountPico: bigint) =>
    postLedger(
      ledger.postgres,
      creditPosting(`credit_${randomBytes(6).toString('hex')}`, accountId, picoUsd(amountPico)),
    )
  /** Each call costs 50 pico-USD. */
  const spend = (accountId: string, calls: number) =>
    createSettlementStore(ledger.postgres).settle(
      Array.from({ length: calls }, () => settlementOf(accountId)),
    )

  test('an event is recorded with its change, or not at all', async () => {
    const accountId = await openTestAccount(ledger.postgres, 100n)
    const failed = ledger.postgres.$transaction(async (transaction) => {
      await recordEvent(transaction, { type: 'topup.settled', accountId, data: { amount_usd: '5.00' } })
      throw new Error('the change failed')
    })
    await expect(failed).rejects.toThrow('the change failed')
    expect(await eventsOf(accountId)).toEqual([])
    const id = await ledger.postgres.$transaction((transaction) =>
      recordEvent(transaction, { type: 'topup.settled', accountId, data: { amount_usd: '5.00' } }),
    )
    expect(id).toMatch(/^evt_/)
    expect(await eventsOf(accountId)).toEqual([{ id, type: 'topup.settled', data: { amount_usd: '5.00' } }])
  })

  test('a cause that is recorded twice is one event', async () => {
    const accountId = await openTestAccount(ledger.postgres, 100n)
    const event = { type: 'topup.failed', accountId, cause: 'topup_7', data: {} } as const
    const ids = await Promise.all(
      Array.from({ length: 5 }, () => ledger.postgres.$transaction((t) => recordEvent(t, event))),
    )
    expect(new Set(ids)).toEqual(new Set([eventIdOf('topup.failed', 'topup_7')]))
    expect(await eventsOf(accountId)).toHaveLength(1)
  })

  test('the database computes ids and prints amounts as the code does', async () => {
    const amounts = [0n, 1n, 10n, 5n * 10n ** 11n, 123_456_789_012_345n, -7n, 2n ** 63n - 1n, -(2n ** 63n)]
    for (const amount of amounts) {
      const [row] = await ledger.postgres.$queryRawUnsafe<Array<{ usd: string }>>(
        'SELECT usd_text($1::bigint) AS usd',
        amount,
      )
      expect(row?.usd).toBe(formatUsd(picoUsd(amount)))
    }
    const [row] = await ledger.postgres.$queryRawUnsafe<Array<{ id: string }>>(
      `SELECT event_id('key.revoked', 'key_é') AS id`,
    )
    expect(row?.id).toBe(eventIdOf('key.revoked', 'key_é'))
  })

  test('a balance is low once a crossing, and again only after it was above', async () => {
    const accountId = await accountWith(1_000n, 500n)
    await spend(accountId, 9)
    expect(await typesOf(accountId)).toEqual([])
    await spend(accountId, 1)
    expect(await eventsOf(accountId)).toEqual([
      {
        id: eventIdOf('balance.low', `${accountId}:3`),
        type: 'balance.low',
        data: { balance_usd: '0.0000000005', threshold_usd: '0.0000000005' },
      },
    ])
    await spend(accountId, 3)
    await credit(accountId, 100n)
    await spend(accountId, 1)
    expect(await typesOf(accountId)).toEqual(['balance.low'])
    await credit(accountId, 1_000n)
    await spend(accountId, 20)
    expect(await typesOf(accountId)).toEqual(['balance.low', 'balance.low'])
  })

  test('a balance that falls to zero in one batch is low and exhausted', async () => {
    const accountId = await accountWith(1_000n, 500n)
    await spend(accountId, 20)
    expect((await typesOf(accountId)).sort()).toEqual(['balance.exhausted', 'balance.low'])
  })

  test('an account without a threshold gets no event but exhaustion', async () => {
    const accountId = await accountWith(100n, null)
    await spend(accountId, 1)
    expect(await typesOf(accountId)).toEqual([])
    await spend(accountId, 1)
    expect(await typesOf(accountId)).toEqual(['balance.exhausted'])
  })

  test('settlements at once, with replays, see each crossing once', async () => {
    const accountId = await accountWith(2_000n, 1_000n)
    const calls = Array.from({ length: 40 }, () => settlementOf(accountId))
    const store = createSettlementStore(ledger.postgres)
    await Promise.all(
      Array.from({ length: 20 }, (_, at) => store.settle([...calls.slice(at, at + 21), calls[at]!])),
    )
    await store.settle(calls)
    expect((await typesOf(accountId)).sort()).toEqual(['balance.exhausted', 'balance.low'])
  })

  test('a revoked key is reported once, an admin key never', async () => {
    const accountId = await openTestAccount(ledger.postgres, 100n)
    const keys = createKeyStore(ledger.postgres, createKeyHasher([randomBytes(32)]), randomBytes)
    const settings = { ...PLAIN_KEY, name: 'ci' }
    const { key } = await keys.create(accountId, settings)
    const { key: admin } = await keys.createOfOperator(await openTestOperator(ledger.postgres), settings)
    const before = await ledger.postgres.event.count()
    const revokedAt = new Date('2026-05-06T07:08:09.123Z')
    for (const id of [key.id, key.id, admin.id]) await keys.revoke(id, revokedAt)
    expect(await eventsOf(accountId)).toEqual([
      {
        id: eventIdOf('key.revoked', key.id),
        type: 'key.revoked',
        data: {
          key_id: key.id,
          name: 'ci',
          hint: `${key.prefix}…${key.suffix}`,
          revoked_at: '2026-05-06T07:08:09.123Z',
        },
      },
    ])
    expect(await ledger.postgres.event.count()).toBe(before + 1)
  })
})
