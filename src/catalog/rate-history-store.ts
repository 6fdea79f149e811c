import type { CatalogSnapshot, Model, TokenRates } from '../core/catalog/catalog.ts'
import { PRICE_KINDS, PRICE_NAMES } from '../core/catalog/token-rates.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { RateVersion } from '../platform/prisma-client/client.ts'
import type { RateChangeTimes } from './pricing-feed.ts'

/** A rate of a model and its start time; pico-USD per token. */
export type RateEntry = Omit<RateVersion, 'id'>

/** The optional price columns: of the rate and of the list price. */
const PARTS = Object.values(PRICE_NAMES).filter((name) => name !== 'prompt' && name !== 'completion')
const OPTIONAL = [...PARTS, ...PARTS.map((column) => `list_${column}`)]
const LISTED = ['prompt', 'completion', ...PARTS].map((column) => `list_${column}`)

// One statement, so that it is fast for thousands of models. A model that returns to an earlier rate gets a
// new row.
const RECORD = `
WITH seen AS (
  SELECT * FROM json_to_recordset($1::json) AS rate (
    model_id text, rate_version text, prompt bigint, completion bigint, list_prompt bigint, list_completion bigint,
    ${OPTIONAL.map((column) => `${column} bigint`).join(', ')})
), last AS (
  SELECT DISTINCT ON (model_id)
    model_id, rate_version, ${LISTED.join(', ')}
  FROM rate_versions WHERE model_id IN (SELECT model_id FROM seen) ORDER BY model_id, id DESC
)
INSERT INTO rate_versions (model_id, rate_version, prompt, completion, list_prompt, list_completion,
                           ${OPTIONAL.join(', ')}, source)
SELECT seen.*, $2 FROM seen LEFT JOIN last USING (model_id)
WHERE last.model_id IS NULL
   OR (last.rate_version, ${LISTED.map((column) => `last.${column}`).join(', ')})
      IS DISTINCT FROM
      (seen.rate_version, ${LISTED.map((column) => `seen.${column}`).join(', ')})`

/** Records every rate that differs from the model's last recorded one. Returns the number of new rows. */
export async function recordRates(
  postgres: Postgres,
  models: Iterable<Model>,
  source: string,
): Promise<number> {
  const rates = Array.from(models, ({ id, rateVersion, rate, listPrice }) => ({
    model_id: id,
    rate_version: rateVersion,
    ...rateColumns('', rate),
    ...rateColumns('list_', listPrice),
  }))
  return postgres.$transaction(async (transaction) => {
    // Two processes must not both record the same change.
    await transaction.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('rate_versions'))`
    return transaction.$executeRawUnsafe(RECORD, JSON.stringify(rates), source)
  })
}

const rateColumns = (prefix: string, rates: TokenRates) =>
  Object.fromEntries(PRICE_KINDS.map((kind) => [`${prefix}${PRICE_NAMES[kind]}`, rates[kind]?.toString()]))

const TIMES = `
WITH changes AS (
  SELECT id, model_id, rate_version, effective_at,
    lag(rate_version) OVER (PARTITION BY model_id ORDER BY id) AS before
  FROM rate_versions WHERE model_id = ANY($1::text[])
)
SELECT DISTINCT ON (model_id)
  model_id AS "modelId", rate_version AS "rateVersion", effective_at AS "since", before IS NULL AS "isFirst"
FROM changes WHERE before IS DISTINCT FROM rate_version ORDER BY model_id, id DESC`

/** When a model's rate started. */
export interface RateTime {
  modelId: string
  rateVersion: string
  since: Date
  /** The first recorded rate, which may be older than its record. */
  isFirst: boolean
}

/** When models' last recorded rates started; the same for every process. */
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

/**
 * When the rates of a catalog's models started: the recorded time if the rate history has a change, or if no document
 * is dated. Records what the catalog worker has not recorded yet, so that every process gets the same result from the
 * first time on. Rejects while PostgreSQL is unavailable.
 */
export async function readRateChangeTimes(
  postgres: Postgres,
  { models, version }: CatalogSnapshot,
): Promise<RateChangeTimes> {
  await recordRates(postgres, models.values(), version)
  const times = new Map<string, number>()
  for (const { modelId, rateVersion, since, isFirst } of await readRateTimes(postgres, [...models.keys()])) {
    const model = models.get(modelId)
    if (model?.rateVersion !== rateVersion || (isFirst && model.dated)) continue
    times.set(modelId, Math.floor(since.getTime() / 1000))
  }
  return times
}
