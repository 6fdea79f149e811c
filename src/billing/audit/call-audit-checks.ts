import { PROMPT_SUM_SQL } from '../settlement/settlement-statements.ts'
import { type AuditCheck, unreviewed } from './audit-check.ts'

/** The invariants of single call records. */
const CALL_RECORD_CHECKS: readonly AuditCheck[] = [
  {
    name: 'a charge is tokens times rates, and a failed call or a duplicate costs nothing',
    reads: 'rows',
    sql: `
      SELECT id, 'charged ' || charge_pico || ', recomputed ' || recomputed AS detail
      FROM (
        SELECT id, charge_pico,
               CASE WHEN status = 'failed' OR duplicate_of IS NOT NULL THEN 0
                    ELSE coalesce(${PROMPT_SUM_SQL.rate}
                                  + completion_tokens * completion_rate_pico::numeric, 0) END AS recomputed
        FROM scoped_calls
      ) AS c WHERE charge_pico <> recomputed`,
  },
  {
    name: 'a duplicate refers to a call of its own account that is not a duplicate',
    reads: 'rows',
    sql: `
      SELECT d.id, 'duplicate of ' || d.duplicate_of || ', which '
               || CASE WHEN c.id IS NULL THEN 'does not exist' ELSE 'cannot settle it' END AS detail
      FROM scoped_calls AS d LEFT JOIN call_records AS c ON c.id = d.duplicate_of
      WHERE d.duplicate_of IS NOT NULL
        AND (c.id IS NULL OR c.account_id <> d.account_id OR c.duplicate_of IS NOT NULL)
        AND archived_at(d.duplicate_of) IS NULL`,
  },
  {
    name: "a call on the client's own provider key costs us nothing",
    reads: 'rows',
    sql: `
      SELECT id, 'costs ' || coalesce(prompt_cost_pico, 0) || ' and ' || coalesce(completion_cost_pico, 0) || ' a token' AS detail
      FROM scoped_calls
      WHERE is_byok AND (prompt_cost_pico <> 0 OR completion_cost_pico <> 0
                         OR prompt_audio_cost_pico <> 0 OR prompt_image_cost_pico <> 0
                         OR cache_read_cost_pico <> 0 OR cache_write_cost_pico <> 0
                         OR units_cost_pico <> 0 OR cache_write_hour_cost_pico <> 0
                         OR web_search_cost_pico <> 0 OR code_execution_cost_pico <> 0)`,
  },
  {
    name: 'no charge is above its hold',
    reads: 'rows',
    sql: `
      SELECT id, 'charged ' || charge_pico || ', held ' || hold_pico AS detail
      FROM scoped_calls WHERE charge_pico > hold_pico OR charge_pico < 0`,
  },
  {
    name: 'the hold of every call in Redis equals its record',
    reads: 'rows',
    sql: `
      SELECT id, 'Redis held ' || redis_hold_pico || ', the record says ' || hold_pico AS detail
      FROM scoped_calls WHERE redis_hold_pico <> hold_pico AND ${unreviewed('scoped_calls.id')}`,
  },
  {
    name: 'every call belongs to an account',
    reads: 'rows',
    sql: `
      SELECT c.id, 'account ' || c.account_id || ' does not exist' AS detail
      FROM scoped_calls AS c LEFT JOIN accounts AS a ON a.id = c.account_id WHERE a.id IS NULL`,
  },
]

/** The version of a rate without the suffix of the routing fee, and the fee in percent; see `feeRateVersion`. */
const BASE_VERSION = "regexp_replace(call.rate_version, '-byok-[0-9]{1,3}$', '')"
const FEE_PERCENT = "coalesce(substring(call.rate_version FROM '-byok-([0-9]{1,3})$')::bigint, 100)"
const listed = (column: string) => `published.${column} * ${FEE_PERCENT} / 100`
const isListed = (column: string) => `call.${column}_rate_pico IS NOT DISTINCT FROM ${listed(column)}`
/**
 * A call without prompt cache prices has no cache rates and pays the prompt rate. One that could not use a tool of the
 * provider has no rate of it.
 */
const isListedOrNone = (column: string) => `(call.${column}_rate_pico IS NULL OR ${isListed(column)})`
const OF_ITS_VERSION = `published.model_id = call.served_model_id AND published.rate_version = ${BASE_VERSION}`

/** A process may use a catalog shortly before the catalog worker records its rates. */
const PUBLISHED_WITHIN = "interval '1 hour'"

const RATE_CHECKS: readonly AuditCheck[] = [
  {
    name: 'every call has the rates that were published as the version it names',
    reads: 'rows',
    waits: true,
    sql: `
      SELECT call.id,
             call.served_model_id || ' at ' || call.prompt_rate_pico || ' and ' || call.completion_rate_pico
               || ' a token, which ' || coalesce(call.rate_version, 'no version') || ' is not' AS detail,
             call.settled_at_ms >= extract(epoch FROM now() - ${PUBLISHED_WITHIN}) * 1000
               AND NOT EXISTS (SELECT 1 FROM rate_versions AS published WHERE ${OF_ITS_VERSION}) AS waits
      FROM scoped_calls AS call
      WHERE call.served_model_id IS NOT NULL
        AND NOT EXISTS (
          SELECT 1 FROM rate_versions AS published
          WHERE ${OF_ITS_VERSION}
            AND ${['prompt', 'completion', 'prompt_audio', 'prompt_image', 'units'].map(isListed).join(' AND ')}
            AND ${['cache_read', 'cache_write', 'cache_write_hour', 'web_search', 'code_execution'].map(isListedOrNone).join(' AND ')})
        AND ${unreviewed('call.id')}`,
  },
]

/** Calls with new records of either kind: what settlement kept aside is compared with the record that counts. */
const SET_ASIDE = `
  settlement_conflicts AS aside
  JOIN (SELECT call_id AS id FROM scoped_conflicts UNION SELECT id FROM scoped_calls) AS touched ON touched.id = aside.call_id`

/**
 * Compare what clients received with what they were charged. `settlement_conflicts` keeps the records that settlement
 * dropped; `call_records` has the charge. Calls that rightly cost nothing (failed by a provider or the gateway; nothing
 * produced; no fee on the client's BYOK key; a duplicate) violate none of these.
 */
const CONFLICT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'no charged call returned an error to its client',
    reads: 'rows',
    sql: `
      SELECT call.id,
             'charged ' || call.charge_pico || ' as ' || call.status || ', another record says ' || aside.error_code AS detail
      FROM ${SET_ASIDE} JOIN call_records AS call ON call.id = aside.call_id
      WHERE aside.error_code IS NOT NULL AND call.charge_pico > 0
        AND (aside.status = 'failed' OR call.status = 'completed') AND ${unreviewed('call.id')}`,
  },
  {
    name: 'no call is given away that a provider served',
    reads: 'rows',
    sql: `
      SELECT id, prompt_tokens || ' and ' || completion_tokens || ' tokens, charged nothing' AS detail
      FROM scoped_calls
      WHERE charge_pico = 0 AND duplicate_of IS NULL AND status <> 'failed' AND completion_tokens > 0
        AND (prompt_rate_pico > 0 OR completion_rate_pico > 0)
        AND attempts @> '[{"outcome": "ok"}]' AND ${unreviewed('scoped_calls.id')}
      UNION ALL
      SELECT call.id, 'charged nothing as ' || call.status || ', a record set aside charges ' || aside.charge_pico
      FROM ${SET_ASIDE} JOIN call_records AS call ON call.id = aside.call_id
      WHERE call.charge_pico = 0 AND call.duplicate_of IS NULL AND aside.charge_pico > 0 AND ${unreviewed('call.id')}`,
  },
  {
    name: 'no call has records that contradict each other',
    reads: 'rows',
    sql: `
      SELECT aside.call_id AS id,
             outcome || ': ' || status || coalesce(' (' || error_code || ')', '') || ', ' || completion_tokens
               || ' tokens, charge ' || charge_pico AS detail
      FROM scoped_conflicts AS aside WHERE ${unreviewed('aside.call_id')}`,
  },
]

/** The invariants of call records. */
export const CALL_AUDIT_CHECKS: readonly AuditCheck[] = [
  ...CALL_RECORD_CHECKS,
  ...RATE_CHECKS,
  ...CONFLICT_CHECKS,
]
