import type { Logger } from '../../platform/observability/logger.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { type CallLookup, createCallLookup } from '../call-records/call-lookup.ts'
import { type CallRecords, createCallRecords } from '../call-records/call-records.ts'
import { createHoldStore } from '../holds/hold-store.ts'
import { type CreditStore, createCreditStore } from '../ledger/credit-store.ts'
import { type Allowances, createAllowances } from './budget-state.ts'
import { createModelStatsStore, type ModelStatsStore } from './model-stats-store.ts'
import { createSpendStore, type SpendStore } from './spend-store.ts'
import type { UsageSeriesStore } from './usage-series-store.ts'
import type { UsageStore } from './usage-store.ts'

/** The reports that customers may read of their calls and charges. */
export interface Reports {
  findCall: CallLookup
  calls: Pick<CallRecords, 'list' | 'isArchived' | 'ofSession' | 'recentSessions'>
  usage: UsageStore
  series: UsageSeriesStore
  models: ModelStatsStore
  spend: SpendStore
  credits: CreditStore
  allowances: Allowances
}

/**
 * Reports over the ledger. They need their own pool: a report over a year of usage must not delay the lookup of a key
 * or a balance. Usage and lists of calls may come from a replica, which is behind; what is left of a budget never does.
 */
export function createReports(
  {
    postgres,
    replica,
    usage,
  }: { postgres: Postgres; replica: Postgres; usage: UsageStore & UsageSeriesStore },
  redis: Redis,
  clock: () => number,
  logger: Pick<Logger, 'warn'>,
): Reports {
  const spend = createSpendStore(postgres)
  const holds = createHoldStore(redis)
  const calls = createCallRecords(postgres)
  return {
    findCall: createCallLookup({
      calls,
      areHeld: holds.areHeld,
      clock,
    }),
    calls: createCallRecords(replica),
    usage,
    series: usage,
    models: createModelStatsStore({ postgres: replica, clock, logger }),
    spend,
    credits: createCreditStore(postgres, holds),
    allowances: createAllowances(redis),
  }
}
