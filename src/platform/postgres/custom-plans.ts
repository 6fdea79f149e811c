import type { Postgres, PostgresTransaction } from './postgres.ts'

/**
 * Runs statements that are planned for their values each time. A plan for any values, which PostgreSQL may choose after some
 * runs, cannot know that a limit is reached early, and may read a whole range of ids to sort it.
 */
export const withCustomPlans = <Result>(
  postgres: Postgres,
  run: (transaction: PostgresTransaction) => Promise<Result>,
): Promise<Result> =>
  postgres.$transaction(async (transaction) => {
    await transaction.$executeRawUnsafe('SET LOCAL plan_cache_mode = force_custom_plan')
    return run(transaction)
  })

/** The same for statements whose bounds are ranges of an index: PostgreSQL may take a tenth of a table for all of it. */
export const withIndexPlans = <Result>(
  postgres: Postgres,
  run: (transaction: PostgresTransaction) => Promise<Result>,
): Promise<Result> =>
  withCustomPlans(postgres, async (transaction) => {
    await transaction.$executeRawUnsafe('SET LOCAL enable_seqscan = off')
    return run(transaction)
  })

/**
 * The same for sums over ranges of an index that may hold many rows, which the planner takes for few: it would visit each
 * by the index, and sort all of them. Any plan may be kept.
 */
export const withHashPlans = <Result>(
  postgres: Postgres,
  run: (transaction: PostgresTransaction) => Promise<Result>,
): Promise<Result> =>
  postgres.$transaction(async (transaction) => {
    await transaction.$executeRawUnsafe(
      `SELECT set_config('enable_sort', 'off', true), set_config('enable_indexscan', 'off', true)`,
    )
    return run(transaction)
  })
