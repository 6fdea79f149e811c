import type { Model } from '../core/catalog.ts'
import type { Postgres } from '../platform/postgres.ts'

/** A rate that a model had from a moment on; pico-USD per token. */
export interface RateEntry {
  modelId: string
  rateVersion: string
  prompt: bigint
  completion: bigint
  listPrompt: bigint
  listCompletion: bigint
  /** The version of the catalog in which it was first seen. */
  source: string
  effectiveAt: Date
}

// One statement, so that it is quick for thousands of models. A model that goes back to an earlier rate gets a
// row again.
const RECORD = `
WITH seen AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS s(model_id, rate_version, prompt, completion, list_prompt, list_completion)
), last AS (
  SELECT DISTINCT ON (model_id) model_id, rate_version, list_prompt, list_completion
  FROM rate_versions WHERE model_id = ANY($1::text[]) ORDER BY model_id, id DESC
)
INSERT INTO rate_versions (model_id, rate_version, prompt, completion, list_prompt, list_completion, source)
SELECT seen.*, $7 FROM seen LEFT JOIN last USING (model_id)
WHERE last.model_id IS NULL
   OR (last.rate_version, last.list_prompt, last.list_completion)
      IS DISTINCT FROM (seen.rate_version, seen.list_prompt, seen.list_completion)`

/** Records every model's rate that is not its last recorded one. Returns how many were new. */
export async function recordRates(
  postgres: Postgres,
  models: Iterable<Model>,
  source: string,
): Promise<number> {
  const all = [...models]
  return postgres.$transaction(async (transaction) => {
    // Two processes that see the same change must not both record it.
    await transaction.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('rate_versions'))`
    return transaction.$executeRawUnsafe(
      RECORD,
      all.map(({ id }) => id),
      all.map(({ rateVersion }) => rateVersion),
      all.map(({ rate }) => rate.prompt as bigint),
      all.map(({ rate }) => rate.completion as bigint),
      all.map(({ listPrice }) => listPrice.prompt as bigint),
      all.map(({ listPrice }) => listPrice.completion as bigint),
      source,
    )
  })
}

/** The rates a model had, newest first. */
export async function readRateHistory(
  postgres: Postgres,
  modelId: string,
  limit: number,
): Promise<RateEntry[]> {
  const rows = await postgres.rateVersion.findMany({
    where: { modelId },
    orderBy: { id: 'desc' },
    take: limit,
  })
  return rows.map(({ id: _id, ...entry }) => entry)
}
