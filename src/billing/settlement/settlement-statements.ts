import { KEY_RETENTION_MS } from './settled-keys.ts'
import { CALL_COLUMNS, KEY_COLUMNS } from './settlement-row.ts'

const names = Object.keys(CALL_COLUMNS)
const columns = names.join(', ')
const typedColumns = Object.entries({ ...CALL_COLUMNS, ...KEY_COLUMNS }).map(
  ([name, type]) => `${name} ${type}`,
)
const replaced = [...names.filter((name) => name !== 'id'), 'duplicate_of', 'settled_at_ms'].map(
  (name) => `${name} = EXCLUDED.${name}`,
)
const SELECTED: Partial<Record<string, string>> = {
  account_id: 'account.id',
  charge_pico: 'CASE WHEN key.call_id IS NULL THEN call.charge_pico ELSE 0 END',
}
const selected = names.map((name) => SELECTED[name] ?? `call.${name}`)

/** What a record says about how its call ended; times and attempts may differ where a worker repeats itself. */
export const SAID = [
  'status',
  'error_code',
  'served_offer_id',
  'prompt_tokens',
  'completion_tokens',
  'charge_pico',
] as const satisfies Array<keyof typeof CALL_COLUMNS>
/** `isUnserved` over a row. */
const unserved = (row: string) => `${row}.served_offer_id IS NULL`

/** A key that is no longer kept stands for the call that came after. */
const replacesKey = `EXCLUDED.admitted_at_ms - known.admitted_at_ms >= ${KEY_RETENTION_MS}`

/**
 * One statement is one transaction and one round trip. `account` locks the rows in the order of their ids,
 * so that writers cannot deadlock; it goes first because everything reads from it, and reads the newest
 * balances because locking does. An unknown account gives a null account id, which the database refuses.
 * `recorded` decides what is new: a call without a record, or with one that names nobody who served and gives way to
 * one that does; it waits for writers of the same call and sees what they wrote. A record that gives way
 * charged nothing, and a trigger keeps it. `key` has which call an Idempotency-Key stands for: the first that is
 * settled, for as long as keys are kept, whatever Redis has forgotten; another call of that key is its duplicate and
 * is charged nothing. Its update without a change returns that call also where it is newer than the statement's
 * snapshot. `charged`, entries, balances and versions follow from `recorded` alone.
 * States follow by `account_state_after`; $3 is what the cheapest call held, where the records have it.
 */
export const SETTLE = `
WITH call AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS call (${typedColumns.join(', ')})
), account AS MATERIALIZED (
  SELECT id, balance_pico, version FROM accounts
  WHERE id IN (SELECT account_id FROM call) ORDER BY id FOR UPDATE
), key AS MATERIALIZED (
  INSERT INTO idempotency_keys AS known (account_id, key_digest, call_id, admitted_at_ms)
  SELECT DISTINCT ON (account.id, call.idempotency_digest)
         account.id, call.idempotency_digest, call.id, call.admitted_at_ms
  FROM call JOIN account ON account.id = call.account_id
  WHERE call.idempotency_digest IS NOT NULL
  ORDER BY account.id, call.idempotency_digest, call.admitted_at_ms
  ON CONFLICT (account_id, key_digest) DO UPDATE SET
    call_id = CASE WHEN ${replacesKey} THEN EXCLUDED.call_id ELSE known.call_id END,
    admitted_at_ms = CASE WHEN ${replacesKey} THEN EXCLUDED.admitted_at_ms ELSE known.admitted_at_ms END
  RETURNING account_id, key_digest, call_id, admitted_at_ms
), recorded AS (
  INSERT INTO call_records AS known (${columns}, duplicate_of)
  SELECT ${selected.join(', ')}, key.call_id
  FROM call LEFT JOIN account ON account.id = call.account_id
  LEFT JOIN key ON key.account_id = call.account_id AND key.key_digest = call.idempotency_digest
    AND key.call_id <> call.id AND abs(call.admitted_at_ms - key.admitted_at_ms) < ${KEY_RETENTION_MS}
  ON CONFLICT (id) DO UPDATE SET ${replaced.join(', ')}
  WHERE ${unserved('known')} AND NOT (${unserved('EXCLUDED')}) AND known.account_id = EXCLUDED.account_id
  RETURNING id, account_id, charge_pico, duplicate_of, xmax <> 0 AS superseded
), charged AS MATERIALIZED (
  SELECT id, account_id, charge_pico FROM recorded WHERE charge_pico > 0
), transactions AS (
  INSERT INTO ledger_transactions (id, kind, account_id) SELECT id, 'capture', account_id FROM charged
), entries AS (
  INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
  SELECT charged.id, 'capture', entry.ledger_account, entry.amount_pico
  FROM json_to_recordset($2::json) AS entry (transaction_id text, ledger_account text, amount_pico bigint)
  JOIN charged ON charged.id = entry.transaction_id
), total AS (
  SELECT account_id, sum(charge_pico)::bigint AS charge_pico FROM charged GROUP BY account_id
), changed AS (
  UPDATE accounts SET
    balance_pico = accounts.balance_pico - total.charge_pico,
    version = accounts.version + 1,
    least_call_pico = coalesce($3::bigint, accounts.least_call_pico),
    state = account_state_after(accounts.state, accounts.balance_pico - total.charge_pico, -total.charge_pico,
                                'capture', coalesce($3::bigint, accounts.least_call_pico))
  FROM total WHERE accounts.id = total.account_id
  RETURNING accounts.id, accounts.balance_pico, accounts.version
)
SELECT account.id AS "accountId",
       coalesce(changed.balance_pico, account.balance_pico) AS "balancePico",
       coalesce(changed.version, account.version) AS "version",
       (SELECT count(*)::int FROM recorded WHERE duplicate_of IS NULL) AS "recordedCalls",
       (SELECT array_agg(id) FROM recorded WHERE superseded) AS "supersededCalls"
FROM account LEFT JOIN changed ON changed.id = account.id`

/**
 * Keeps those records of a batch that do not count and say something else than the one that does. A statement of
 * its own, to see what other writers committed while SETTLE waited for them; a crash before it is made up for
 * when the jobs run again. Two records that name nobody do not contradict each other: both charge nothing. Nor
 * does what a duplicate would have been charged.
 */
export const KEEP_CONFLICTS = `
INSERT INTO settlement_conflicts (call_id, outcome, unserved, ${SAID.join(', ')}, record)
SELECT call.id, 'dropped', ${unserved('call')}, ${SAID.map((name) => `call.${name}`).join(', ')}, to_jsonb(call)
FROM json_to_recordset($1::json) AS call (${typedColumns.join(', ')})
JOIN call_records AS known ON known.id = call.id
WHERE (${SAID.map((name) => `call.${name}`).join(', ')})
        IS DISTINCT FROM (${SAID.map((name) => `known.${name}`).join(', ')})
  AND NOT (${unserved('call')} AND ${unserved('known')})
  AND known.duplicate_of IS NULL
ON CONFLICT DO NOTHING`
