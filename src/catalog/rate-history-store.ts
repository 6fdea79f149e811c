import type { Model } from '../core/catalog/catalog.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'

/** A rate of a model and its start time; pico-USD per token. */
export interface RateEntry {
  modelId: string
  rateVersion: string
  prompt: bigint
  completion: bigint
  listPrompt: bigint
  listCompletion: bigint
  /** Rates of audio and images in the prompt; null: the prompt rate. */
  promptAudio: bigint | null
  promptImage: bigint | null
  listPromptAudio: bigint | null
  listPromptImage: bigint | null
  /** The version of the catalog in which it was first seen. */
  source: string
  effectiveAt: Date
}

// One statement, so that it is fast for thousands of models. A model that returns to an earlier rate gets a
// new row.
const RECORD = `
WITH seen AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                       $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])
    AS s(model_id, rate_version, prompt, completion, list_prompt, list_completion,
         prompt_audio, prompt_image, list_prompt_audio, list_prompt_image)
), last AS (
  SELECT DISTINCT ON (model_id)
    model_id, rate_version, list_prompt, list_completion, list_prompt_audio, list_prompt_image
  FROM rate_versions WHERE model_id = ANY($1::text[]) ORDER BY model_id, id DESC
)
INSERT INTO rate_versions (model_id, rate_version, prompt, completion, list_prompt, list_completion,
                           prompt_audio, prompt_image, list_prompt_audio, list_prompt_image, source)
SELECT seen.*, $11 FROM seen LEFT JOIN last USING (model_id)
WHERE last.model_id IS NULL
   OR (last.rate_version, last.list_prompt, last.list_completion, last.list_prompt_audio, last.list_prompt_image)
      IS DISTINCT FROM
      (seen.rate_version, seen.list_prompt, seen.list_completion, seen.list_prompt_audio, seen.list_prompt_image)`

/** Records every rate that differs from the model's last recorded one. Returns the number of new rows. */
export async function recordRates(
  postgres: Postgres,
  models: Iterable<Model>,
  source: string,
): Promise<number> {
  const all = [...models]
  return postgres.$transaction(async (transaction) => {
    // Two processes must not both record the same change.
    await transaction.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('rate_versions'))`
    return transaction.$executeRawUnsafe(
      RECORD,
      all.map(({ id }) => id),
      all.map(({ rateVersion }) => rateVersion),
      all.map(({ rate }) => rate.prompt as bigint),
      all.map(({ rate }) => rate.completion as bigint),
      all.map(({ listPrice }) => listPrice.prompt as bigint),
      all.map(({ listPrice }) => listPrice.completion as bigint),
      all.map(({ rate }) => rate.promptAudio ?? null),
      all.map(({ rate }) => rate.promptImage ?? null),
      all.map(({ listPrice }) => listPrice.promptAudio ?? null),
      all.map(({ listPrice }) => listPrice.promptImage ?? null),
      source,
    )
  })
}

const TIMES = `
WITH changes AS (
  SELECT id, model_id, rate_version, effective_at,
    lag(rate_version) OVER (PARTITION BY model_id ORDER BY id) AS before
  FROM rate_versions WHERE model_id = ANY($1::text[])
)
SELECT DISTINCT ON (model_id)
  model_id AS "modelId", rate_version AS "rateVersion", effective_at AS "since", before IS NULL AS "isFirst"
FROM changes WHERE before IS DISTINCT FROM rate_version ORDER BY model_id, id DESC`

/** Since when a model has its rate. */
export interface RateTime {
  modelId: string
  rateVersion: string
  since: Date
  /** The first recorded rate, which may be older than its record. */
  isFirst: boolean
}

/** Since when models have their last recorded rates; the same for every process. */
export async function readRateTimes(postgres: Postgres, modelIds: readonly string[]): Promise<RateTime[]> {
  return postgres.$queryRawUnsafe<RateTime[]>(TIMES, modelIds)
}

/** Past rates of a model, newest first. */
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
