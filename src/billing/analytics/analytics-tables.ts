import type { ClickHouse } from '../../platform/clickhouse.ts'

export const CALLS_TABLE = 'shuntyard_calls'
export const POSITION_TABLE = 'shuntyard_position'

/** One row a call: of several with its id, the one that PostgreSQL wrote last remains. */
const CALLS = `
CREATE TABLE IF NOT EXISTS ${CALLS_TABLE} (
  id String, account_id String, key_id String, made_by String,
  status LowCardinality(String), error_code LowCardinality(String),
  requested_model LowCardinality(String), model LowCardinality(String),
  served_model_id LowCardinality(String), served_offer_id LowCardinality(String), is_byok UInt8,
  prompt_tokens Int64, completion_tokens Int64, charge_pico Int64,
  admitted_at_ms Int64, first_token_at_ms Nullable(Int64), finished_at_ms Int64, settled_at_ms Int64,
  written_xact UInt64
) ENGINE = ReplacingMergeTree(written_xact)
PARTITION BY toYYYYMM(toDateTime(intDiv(admitted_at_ms, 1000), 'UTC'))
ORDER BY (account_id, admitted_at_ms, id)`

/** Up to which row of PostgreSQL the calls are there. The row with the highest step counts. */
const POSITION = `
CREATE TABLE IF NOT EXISTS ${POSITION_TABLE} (
  name String, step UInt64, written_xact UInt64, call_id String, complete_at_ms Int64
) ENGINE = ReplacingMergeTree(step) ORDER BY name`

/**
 * What is exported. Calls are read in the order of (written_xact, id): rows from before transactions were recorded count as
 * of transaction 0.
 */
export interface ExportPosition {
  /** Counts the writes of the position. */
  step: number
  /** As a decimal number. */
  writtenXact: string
  callId: string
  /** All calls that were settled before this time are there, unix ms; 0: not yet. */
  completeAtMs: number
}

const START: ExportPosition = { step: 0, writtenXact: '0', callId: '', completeAtMs: 0 }

export async function createAnalyticsTables(clickHouse: ClickHouse): Promise<void> {
  await clickHouse.run(CALLS)
  await clickHouse.run(POSITION)
}

/** The position of the export; the start in new tables. Rejects while the tables are missing. */
export async function readPosition(clickHouse: Pick<ClickHouse, 'select'>): Promise<ExportPosition> {
  const [row] = await clickHouse.select<ExportPosition>(
    `SELECT step, toString(written_xact) AS writtenXact, call_id AS callId, complete_at_ms AS completeAtMs
     FROM ${POSITION_TABLE} ORDER BY step DESC LIMIT 1`,
  )
  return row ?? START
}

export const writePosition = (clickHouse: ClickHouse, position: ExportPosition): Promise<void> =>
  clickHouse.insert(POSITION_TABLE, [
    {
      ...{ name: 'calls', step: position.step, written_xact: position.writtenXact },
      ...{ call_id: position.callId, complete_at_ms: position.completeAtMs },
    },
  ])
