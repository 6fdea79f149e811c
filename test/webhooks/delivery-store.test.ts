import { beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/core/kernel/ids.ts'
import { createDeliveryStore, type DeliveryStore } from '../../src/webhooks/delivery-store.ts'
import { openTestAccount } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

const LEASE_MS = 60_000
const BOUNDS = {
  perEndpoint: 4,
  leaseMs: LEASE_MS,
  lanes: {
    quick: { perAccount: 8, inAll: 200 },
    new: { perAccount: 2, inAll: 8 },
    slow: { perAccount: 2, inAll: 8 },
  },
}
const BACKLOG = 200_000
const ROWS_AT_ONCE = 20_000

describe('claiming due deliveries', () => {
  const ledger = testLedger()
  let deliveries: DeliveryStore
  beforeAll(() => {
    deliveries = createDeliveryStore(ledger.postgres)
  })

  /** An endpoint of a new account with so many deliveries that were due for a minute, and one that is due later. */
  const endpointWith = async (due: number): Promise<string> => {
    const account = await openTestAccount(ledger.postgres, 1n)
    const endpoint = newId('hook')
    const { postgres } = ledger
    await postgres.$executeRawUnsafe(
      `INSERT INTO webhook_endpoints (id, account_id, url, secret_sealed, proven_at) VALUES ($1, $2, 'https://x.test', 'x', now())`,
      endpoint,
      account,
    )
    for (let from = 0; from <= due; from += ROWS_AT_ONCE) {
      await postgres.$executeRawUnsafe(
        `WITH event AS (
           INSERT INTO events (id, type, account_id, data, fanned_out_at)
           SELECT 'evt_' || $1 || number, 'balance.low', $2, '{}', now()
           FROM generate_series($3::int, least($3 + ${ROWS_AT_ONCE - 1}, $4::int)) AS number RETURNING id
         )
         INSERT INTO webhook_deliveries (id, event_id, endpoint_id, next_attempt_at)
         SELECT id || '_d', id, $1, now() + CASE WHEN id = 'evt_' || $1 || '0' THEN 1 ELSE -1 END * interval '1 minute' FROM event`,
        endpoint,
        account,
        from,
        due,
      )
    }
    return endpoint
  }
  const claim = async () => (await deliveries.claimDue(BOUNDS)).map(({ id }) => id)

  test('gives each endpoint its share, the running ones included, and none that is not due', async () => {
    const [one, other] = [await endpointWith(6), await endpointWith(2)]
    const first = await claim()
    expect(first.filter((id) => id.includes(one))).toHaveLength(4)
    expect(first.filter((id) => id.includes(other))).toHaveLength(2)
    expect(first.some((id) => id.endsWith('0_d'))).toBe(false)
    expect(await claim()).toEqual([])
    await ledger.postgres.webhookDelivery.deleteMany({ where: { id: { in: first.slice(0, 6) } } })
    expect((await claim()).filter((id) => id.includes(one))).toHaveLength(2)
  })

  test('claims a delivery again whose lease has ended', async () => {
    const endpoint = await endpointWith(1)
    const [id] = await claim()
    expect(id).toContain(endpoint)
    await ledger.postgres.$executeRawUnsafe(
      `UPDATE webhook_deliveries SET queued_until = now() - interval '1 second' WHERE id = $1`,
      id,
    )
    expect(await claim()).toEqual([id])
  })

  test('a backlog of one endpoint costs others milliseconds, however long it is', async () => {
    const flooded = await endpointWith(BACKLOG)
    await ledger.postgres.$executeRawUnsafe('ANALYZE webhook_deliveries')
    const other = await endpointWith(1)
    const startedAt = performance.now()
    expect(await deliveries.hasWork()).toBe(true)
    const claimed = await claim()
    expect(performance.now() - startedAt).toBeLessThan(250)
    expect(claimed.filter((id) => id.includes(flooded))).toHaveLength(4)
    expect(claimed.some((id) => id.includes(other))).toBe(true)
  }, 120_000)
})
