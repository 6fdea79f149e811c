import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createReturnsSchedule } from '../../src/payments/returns-schedule.ts'
import { runOnOneProcess } from '../../src/platform/redis/fleet-job.ts'
import { RETURNS_NEXT_AT } from '../../src/platform/redis/redis-keys.ts'
import { openTestAccount } from '../helpers/billing.ts'
import { eventually } from '../helpers/eventually.ts'
import { noticeOf, refundFact, settledFact, testPayments } from '../helpers/payments.ts'

const DAY_MS = 86_400_000

const kit = testPayments()

test('refunds are reconciled once a day by one process of the fleet; what was missed raises an alarm', async () => {
  const payment = await kit.open(await openTestAccount(kit.postgres, 1n))
  await kit.tell(payment, settledFact)
  kit.rail.refunds = [noticeOf(payment, refundFact('re_missed', 5_000_000_000_000n))]
  const logged: Array<Record<string, unknown>> = []
  const logger = pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const registry = new Registry()
  const schedulers = [registry, new Registry()].map((each) =>
    runOnOneProcess({
      redis: kit.redis,
      name: 'payment-returns',
      everyMs: 10,
      ...createReturnsSchedule({ ...kit, logger, registry: each }),
      onFailure: (error) => expect.unreachable(String(error)),
    }),
  )
  const runs = () =>
    logged.filter(({ msg }) => String(msg).startsWith('refunds and disputes reconciled')).length
  const alarms = () => logged.filter(({ alarm }) => alarm === 'payment-webhook-missed')
  try {
    await eventually(() => expect(runs()).toBe(1))
    expect(alarms()).toMatchObject([{ paymentId: payment.id }])
    expect(await kit.payments.find(payment.id)).toMatchObject({ state: 'refunded' })
    expect(Number(await kit.redis.get(RETURNS_NEXT_AT))).toBeGreaterThan(kit.clock() + DAY_MS - 60_000)
    expect(kit.rail.lists).toBe(1)
    expect(kit.rail.listed).toHaveLength(1)

    kit.travel(DAY_MS + 1_000)
    await eventually(() => expect(runs()).toBe(2))
    expect(alarms()).toHaveLength(1)
    expect(kit.rail.lists).toBe(2)
    expect(kit.rail.listed.length).toBeGreaterThan(5)
  } finally {
    await Promise.all(schedulers.map((scheduler) => scheduler.stop()))
  }
  const counted = await Promise.all(
    [registry].map(async (each) => (await each.getMetricsAsJSON()).map(({ name }) => name)),
  )
  expect(counted[0]).toEqual([
    'shuntyard_payment_webhooks_missed_total',
    'shuntyard_payment_returns_reconciled_timestamp_seconds',
  ])
})
