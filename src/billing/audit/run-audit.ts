import { type UnchargedCostLimits, unchargedCostStanding } from '../../core/billing/uncharged-cost.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { createFindQueuedCalls } from '../../platform/queues/call-jobs.ts'
import type { CallQueues } from '../../platform/queues/call-queues.ts'
import type { JobQueue } from '../../platform/queues/queues.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { findKnownCalls } from '../call-records/known-calls.ts'
import { createAllowanceStore } from '../holds/allowance-store.ts'
import { createHoldStore } from '../holds/hold-store.ts'
import { createBalanceStore } from '../ledger/balance-store.ts'
import { createSpendStore } from '../reports/spend-store.ts'
import { createUnchargedCostStore } from '../reports/uncharged-cost-store.ts'
import { openAllowanceAudit } from './allowance-audit.ts'
import type { Discrepancy } from './audit-findings.ts'
import { type CheckResult, SAMPLES } from './audit-findings.ts'
import { openBalanceCacheAudit } from './balance-cache-audit.ts'
import { auditFailureCredits, type FailureCreditLimits, type FailureCredits } from './failure-credit-audit.ts'
import { type AuditReach, auditLedger } from './ledger-audit.ts'

/** The printed and stored form of an audit result: amounts as decimal strings of USD, counts as numbers. */
export interface AuditReport {
  ok: boolean
  /** Whether it read all rows, or the last of them; otherwise what was written since the audit before. */
  isFull: boolean
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
 * Audits money: the ledger, call records and payments in PostgreSQL, and the balance caches and allowances in Redis of the
 * accounts whose balances it compares. A full audit also compares what Redis has of accounts that PostgreSQL does not know.
 * Exact while calls run. Throws AuditBusyError while another audit runs.
 */
export async function runAudit(deps: {
  /** Must have no statement timeout: a full audit reads whole tables. */
  postgres: Postgres
  redis: Redis
  /** Of all shards. */
  queues: readonly CallQueues[]
  clock: () => number
  unchargedCost: UnchargedCostLimits
  failureCredits: FailureCreditLimits
  /** Absent: what is new. */
  reach?: AuditReach
  /** How long to wait for another audit. Absent: a minute. */
  waitMs?: number
  /** Deletes wrong allowances, which are then loaded again. Absent: Redis is left as it is. */
  repairsAllowances?: boolean
}): Promise<AuditReport> {
  const { postgres, redis, queues, clock, reach, waitMs } = deps
  const holds = createHoldStore(redis)
  const caches = await openBalanceCacheAudit({
    holds,
    balances: createBalanceStore(postgres),
    countJobs: async () => ({
      dispatchJobs: await countJobs(queues.map(({ dispatch }) => dispatch)),
      settlementJobs: await countJobs(queues.map(({ settlement }) => settlement)),
    }),
    findQueued: createFindQueuedCalls(queues),
    accountedFor: async (callIds) => {
      const { settled, quarantined } = await findKnownCalls(postgres, callIds)
      return settled.union(quarantined)
    },
    clock,
  })
  const allowances = openAllowanceAudit({
    postgres,
    allowances: createAllowanceStore(holds, createSpendStore(postgres)),
    clock,
    ...(deps.repairsAllowances && { forget: holds.forgetAllowance }),
  })
  const compared = new Set<string>()
  const compareInRedis = async (accountIds: readonly string[]) => {
    const some = accountIds.filter((accountId) => !compared.has(accountId))
    for (const accountId of some) compared.add(accountId)
    await caches.compare(some)
    await allowances.compare(some)
  }
  const ledger = await auditLedger(postgres, { reach, waitMs, clock, onAccounts: compareInRedis })
  if (ledger.isFull) await compareInRedis(await holds.accounts())
  const cached = await caches.finish()
  const uncharged = await auditUnchargedCost(postgres, deps.unchargedCost)
  const credited = await auditFailureCredits(postgres, deps.failureCredits, clock())
  const checks = [...ledger.checks, ...cached.checks, allowances.result(), uncharged, credited.check]
  const broken = checks.reduce((sum, check) => sum + check.broken, 0)
  return {
    ok: broken === 0,
    isFull: ledger.isFull,
    broken,
    figures: { ...metricsView(ledger.metrics), ...metricsView(cached.metrics) },
    checks: checks.map(({ name, broken }) => ({ name, broken })),
    discrepancies: checks.flatMap((check) => check.discrepancies),
    failureCredits: credited.credits,
  }
}

async function countJobs(queues: readonly JobQueue[]): Promise<number> {
  const counts = await Promise.all(queues.map((queue) => queue.getJobCountByTypes(...COUNTED_STATES)))
  return counts.reduce((sum, count) => sum + count, 0)
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

const NAME = 'every account with twice the allowed unpaid cost is slowed or suspended'

/** Accounts whose uncharged provider cost exceeds the limit for suspension, but that were not even slowed. */
export async function auditUnchargedCost(
  postgres: Postgres,
  limits: UnchargedCostLimits,
): Promise<CheckResult> {
  const suspects = await createUnchargedCostStore(postgres).suspects(limits.floorPico)
  const found = suspects.filter(
    (account) =>
      !account.isSuspended && !account.isSlowed && unchargedCostStanding(account, limits) === 'stopped',
  )
  return {
    name: NAME,
    broken: found.length,
    discrepancies: found.slice(0, SAMPLES).map(({ accountId, causedPico, chargedPico }) => ({
      check: NAME,
      subject: accountId,
      detail: `caused ${formatUsd(causedPico)} USD of unpaid cost, was charged ${formatUsd(chargedPico)} USD`,
    })),
  }
}
