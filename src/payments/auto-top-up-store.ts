import { newId } from '../core/kernel/ids.ts'
import { formatUsd } from '../core/kernel/money.ts'
import { DAY_MS, isoTime, monthStartMs } from '../core/kernel/time.ts'
import {
  type AutoTopUpPause,
  type AutoTopUpSettings,
  type AutoTopUpStep,
  autoTopUpStep,
  DECLINES_PER_DAY_MAX,
} from '../core/payments/auto-top-up.ts'
import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import type { AutoTopUp } from '../platform/prisma-client/client.ts'
import { recordEvent } from '../webhooks/event-outbox.ts'
import type { Payment } from './payment-store.ts'

export type { AutoTopUp } from '../platform/prisma-client/client.ts'

/** Automatic top-ups in PostgreSQL. */
export type AutoTopUpStore = ReturnType<typeof createAutoTopUpStore>

/** The unique partial index allows one open charge; the check here avoids futile attempts. */
const DUE = `
SELECT auto.account_id AS "accountId"
FROM auto_top_ups AS auto
JOIN accounts AS account ON account.id = auto.account_id
JOIN saved_cards AS card ON card.account_id = auto.account_id
WHERE auto.enabled AND auto.paused_at IS NULL AND (auto.wait_until IS NULL OR auto.wait_until <= $1)
  AND account.state <> 'suspended' AND (account.balance_pico < auto.threshold_pico OR auto.account_id = ANY ($3))
  AND NOT EXISTS (
    SELECT FROM payments
    WHERE payments.account_id = auto.account_id AND method_id IS NOT NULL AND state IN ('created', 'pending')
  )
ORDER BY auto.account_id LIMIT $2`

const LOCK = 'SELECT FROM auto_top_ups WHERE account_id = $1 FOR UPDATE'

/** Covers the attempts of a pause. */
const ATTEMPTS = 5

export function createAutoTopUpStore(postgres: Postgres, clock: () => number) {
  const spentThisMonth = async (
    { payment }: Pick<PostgresTransaction, 'payment'>,
    accountId: string,
  ): Promise<bigint> => {
    const { _sum } = await payment.aggregate({
      where: {
        accountId,
        methodId: { not: null },
        createdAt: { gte: new Date(monthStartMs(clock())) },
        state: { notIn: ['failed', 'expired'] },
      },
      _sum: { amountPico: true },
    })
    return _sum.amountPico ?? 0n
  }

  const stepOf = async (
    transaction: PostgresTransaction,
    row: AutoTopUp,
    heldPico: bigint,
  ): Promise<AutoTopUpStep> => {
    const { accountId } = row
    const { balancePico } = await transaction.account.findUniqueOrThrow({ where: { id: accountId } })
    const charges = { accountId, methodId: { not: null } }
    const attempts = await transaction.payment.findMany({
      where: charges,
      orderBy: { id: 'desc' },
      take: ATTEMPTS,
    })
    const declines = await transaction.payment.findMany({
      where: { ...charges, state: 'failed', createdAt: { gte: new Date(clock() - DAY_MS) } },
      orderBy: { id: 'desc' },
      take: DECLINES_PER_DAY_MAX,
      select: { createdAt: true },
    })
    return autoTopUpStep(row, {
      spendablePico: balancePico - heldPico,
      spentPico: await spentThisMonth(transaction, accountId),
      attempts: attempts.map(({ createdAt, ...attempt }) => ({
        ...attempt,
        createdAtMs: createdAt.getTime(),
      })),
      declinesMs: declines.map(({ createdAt }) => createdAt.getTime()),
      resumedAtMs: row.resumedAt.getTime(),
      nowMs: clock(),
    })
  }

  return {
    find: (accountId: string): Promise<AutoTopUp | null> =>
      postgres.autoTopUp.findUnique({ where: { accountId } }),

    /** Automatic top-ups of this month that are settled or pending, in pico-USD. */
    spentThisMonth: (accountId: string): Promise<bigint> => spentThisMonth(postgres, accountId),

    /** Saves the holder's settings, and resumes paused top-ups. */
    async save(accountId: string, settings: AutoTopUpSettings): Promise<void> {
      const saved = {
        ...settings,
        resumedAt: new Date(clock()),
        waitUntil: null,
        pausedAt: null,
        pauseReason: null,
      }
      await postgres.autoTopUp.upsert({
        where: { accountId },
        create: { accountId, ...saved },
        update: saved,
      })
    },

    /** Accounts without an open charge whose balance is below their threshold, and those of `refused`. */
    async due(limit: number, refused: readonly string[] = []): Promise<string[]> {
      const rows = await postgres.$queryRawUnsafe<Array<{ accountId: string }>>(
        DUE,
        new Date(clock()),
        limit,
        [...refused],
      )
      return rows.map(({ accountId }) => accountId)
    },

    /**
     * Takes the next step of an account: records and returns a charge of its card, or records that it waits or is
     * paused. The account's row is locked, so that two processes take one step.
     * @param heldPico open holds on the balance, if a call was refused because of them
     */
    takeStep: (accountId: string, heldPico = 0n): Promise<{ step: AutoTopUpStep; charge: Payment | null }> =>
      postgres.$transaction(async (transaction) => {
        await transaction.$queryRawUnsafe(LOCK, accountId)
        const row = await transaction.autoTopUp.findUnique({ where: { accountId } })
        const card = await transaction.savedCard.findUnique({ where: { accountId } })
        const nothing = { step: { kind: 'wait', untilMs: null } as const, charge: null }
        if (!row?.enabled || row.pausedAt !== null || !card) return nothing
        const step = await stepOf(transaction, row, heldPico)
        if (step.kind !== 'charge') {
          await noteStep(transaction, row, step, clock())
          return { step, charge: null }
        }
        const { rail, customerId, methodId } = card
        const charge = await transaction.payment.create({
          data: {
            id: newId('pay'),
            ...{ accountId, rail, customerId, methodId, amountPico: row.amountPico },
            createdAt: new Date(clock()),
          },
        })
        return { step, charge }
      }),
  }
}

async function noteStep(
  transaction: PostgresTransaction,
  row: AutoTopUp,
  step: Exclude<AutoTopUpStep, { kind: 'charge' }>,
  nowMs: number,
): Promise<void> {
  const { accountId } = row
  const change = (data: Partial<AutoTopUp>) => transaction.autoTopUp.update({ where: { accountId }, data })
  const notify = (reason: AutoTopUpPause | 'monthly_maximum', cause: string, resumesAtMs: number | null) =>
    recordEvent(transaction, {
      type: 'topup.auto_paused',
      accountId,
      cause: `${accountId}:${cause}`,
      data: {
        reason,
        amount_usd: formatUsd(row.amountPico),
        monthly_maximum_usd: formatUsd(row.monthlyMaxPico),
        resumes_at: resumesAtMs === null ? null : isoTime(resumesAtMs),
      },
    })
  switch (step.kind) {
    case 'wait':
      if (step.untilMs !== null) await change({ waitUntil: new Date(step.untilMs) })
      return
    case 'monthly_maximum':
      await change({ waitUntil: new Date(step.untilMs) })
      // Once a month, unless the holder saves another maximum that is reached as well.
      await notify('monthly_maximum', `${step.untilMs}:${row.monthlyMaxPico}`, step.untilMs)
      return
    case 'pause':
      await change({ pausedAt: new Date(nowMs), pauseReason: step.reason })
      await notify(step.reason, isoTime(nowMs), null)
      return
    default:
      step satisfies never
  }
}
