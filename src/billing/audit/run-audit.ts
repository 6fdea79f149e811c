import type { UnchargedCostLimits } from '../../core/billing/uncharged-cost.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { createCallJobs, createFindQueuedCalls } from '../../platform/queues/call-jobs.ts'
import type { DispatchQueue, SettlementQueue } from '../../platform/queues/queues.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { findKnownCalls } from '../call-records/known-calls.ts'
import { createAllowanceStore } from '../holds/allowance-store.ts'
import { createHoldStore } from '../holds/hold-store.ts'
import { createBalanceStore } from '../ledger/balance-store.ts'
import { createSpendStore } from '../reports/spend-store.ts'
import { auditAllowances } from './allowance-audit.ts'
import { auditBalanceCaches } from './balance-cache-audit.ts'
import { auditFailureCredits, type FailureCreditLimits, type FailureCredits } from './failure-credit-audit.ts'
import { auditLedger, type Discrepancy } from './ledger-audit.ts'
import { auditUnchargedCost } from './uncharged-cost-audit.ts'

/** The printed and stored form of an audit result: amounts as decimal strings of USD, counts as numbers. */
export interface AuditReport {
  ok: boolean
  /** Number of discrepancies; only samples are listed. */
  broken: number
  figures: Record<string, string | number>
  checks: Array<{ name: string; broken: number }>
  discrepancies: Discrepancy[]
  /** The automatic credits of the last seven days, by day and account. */
  failureCredits: FailureCredits[]
}

const COUNTED_STATES = ['waiting', 'active', 'delayed', 'prioritized'] as const

/**
 * Audits all money: the ledger, call records and payments in PostgreSQL, and the balance caches and allowances in Redis
 * against them. Exact while calls run.
 */
export async function runAudit(deps: {
  /** Must have no statement timeout, because the audit reads whole tables. */
  postgres: Postgres
  redis: Redis
  dispatchQueue: DispatchQueue
  settlementQueue: SettlementQueue
  clock: () => number
  unchargedCost: UnchargedCostLimits
  failureCredits: FailureCreditLimits
  /**
   * The audit of the fleet: throws while another one is running, and deletes wrong allowances, which are then loaded
   * again. Absent: the audit changes nothing.
   */
  isScheduled?: boolean
}): Promise<AuditReport> {
  const { postgres, redis, dispatchQueue, settlementQueue, clock, isScheduled = false } = deps
  const holds = createHoldStore(redis)
  const ledger = await auditLedger(postgres, { alone: isScheduled })
  const caches = await auditBalanceCaches({
    holds,
    balances: createBalanceStore(postgres),
    countJobs: async () => ({
      dispatchJobs: await dispatchQueue.getJobCountByTypes(...COUNTED_STATES),
      settlementJobs: await settlementQueue.getJobCountByTypes(...COUNTED_STATES),
    }),
    findQueued: createFindQueuedCalls(createCallJobs(redis), settlementQueue),
    accountedFor: async (callIds) => {
      const { settled, quarantined } = await findKnownCalls(postgres, callIds)
      return settled.union(quarantined)
    },
    clock,
  })
  const allowances = await auditAllowances({
    postgres,
    allowances: createAllowanceStore(holds, createSpendStore(postgres)),
    clock,
    ...(isScheduled && { forget: holds.forgetAllowance }),
  })
  const uncharged = await auditUnchargedCost(postgres, deps.unchargedCost)
  const credited = await auditFailureCredits(postgres, deps.failureCredits, clock())
  const checks = [...ledger.checks, ...caches.checks, allowances, uncharged, credited.check]
  const broken = checks.reduce((sum, check) => sum + check.broken, 0)
  return {
    ok: broken === 0,
    broken,
    figures: { ...metricsView(ledger.metrics), ...metricsView(caches.metrics) },
    checks: checks.map(({ name, broken }) => ({ name, broken })),
    discrepancies: checks.flatMap((check) => check.discrepancies),
    failureCredits: credited.credits,
  }
}

/** `revenuePico: 1500000000000n` becomes `revenue_usd: "1.50"`; counts stay as they are. */
function metricsView(metrics: object): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(metrics).map(([name, value]: [string, bigint | number]) => {
      const words = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      return words.endsWith('_pico')
        ? [words.replace(/_pico$/, '_usd'), formatUsd(BigInt(value))]
        : [words, Number(value)]
    }),
  )
}
