import { DAY_MS, HOUR_MS } from '../../core/kernel/time.ts'
import { QUARTER_MS } from '../reports/account-usage.ts'
import type { AuditCheck } from './audit-check.ts'

/** The days, quarters of an hour and so on in which calls of the scope were admitted, by account, each with one of them. */
const touched = (widthMs: number) => `
  SELECT account_id, admitted_at_ms - admitted_at_ms % ${widthMs} AS starts_at_ms, min(id) AS id FROM scoped_calls
  GROUP BY 1, 2`

const SUMS = 'sum(charge_pico) AS charge, sum(prompt_tokens) AS prompt, sum(completion_tokens) AS completion'
const differ = (one: string, other: string) =>
  ['calls', 'charge', 'prompt', 'completion']
    .map((sum) => `${one}.${sum} IS DISTINCT FROM ${other}.${sum}`)
    .join(' OR ')

/** Whether a total of spend is of a group; ids of keys have no colon. */
const IS_GROUP = "strpos(key_id, ':') > 0"

/** The start of the first month that is not archived. Calls at its beginning may have left with the month of their id. */
const FIRST_MONTH_MS = `
  SELECT extract(epoch FROM (max(month) + interval '1 month') AT TIME ZONE 'UTC') * 1000 FROM archived_months
  WHERE archived_at IS NOT NULL`

/**
 * The totals of spend, usage and the ledger. Totals of quarters of an hour are compared with their calls, and all others with
 * each other, so that a check reads the calls of few minutes.
 */
export const TOTALS_AUDIT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'the usage of each quarter of an hour is that of its calls',
    reads: 'rows',
    sql: `
      SELECT touched.id,
             touched.account_id || ' at ' || to_timestamp(starts_at_ms / 1000) || ', key ' || key_id || ': '
               || coalesce(calls, 0) || ' calls charged ' || coalesce(charge, 0) || ', total of '
               || coalesce(total_calls, 0) || ' charged ' || coalesce(total_charge, 0) AS detail
      FROM (${touched(QUARTER_MS)}) AS touched
      CROSS JOIN LATERAL (
        SELECT key_id, call.calls, call.charge, total.calls AS total_calls, total.charge AS total_charge
        FROM (
          SELECT key_id, count(*) AS calls, ${SUMS} FROM call_records
          WHERE account_id = touched.account_id AND admitted_at_ms >= touched.starts_at_ms
            AND admitted_at_ms < touched.starts_at_ms + ${QUARTER_MS}
          GROUP BY key_id
        ) AS call
        FULL JOIN (
          SELECT key_id, sum(calls) AS calls, ${SUMS} FROM usage_totals
          WHERE account_id = touched.account_id AND width_ms = ${QUARTER_MS} AND starts_at_ms = touched.starts_at_ms
          GROUP BY key_id HAVING sum(calls) <> 0 OR sum(charge_pico) <> 0
        ) AS total USING (key_id)
        WHERE ${differ('call', 'total')}
      ) AS wrong
      WHERE starts_at_ms >= coalesce((${FIRST_MONTH_MS}) + ${HOUR_MS}, 0)`,
  },
  {
    name: 'what an account and its keys spent in a day is the sum of its quarters of an hour',
    reads: 'rows',
    sql: `
      SELECT touched.id,
             touched.account_id || ' on ' || period || ', key ' || key_id || ': quarters ' || coalesce(quarters, 0)
               || ', hours ' || coalesce(hours, 0) || ', usage of the day ' || coalesce(usage, 0) || ', spent ' || coalesce(spent, 0) AS detail
      FROM (
        SELECT *, to_char(date '1970-01-01' + (starts_at_ms / ${DAY_MS})::integer, '"d"YYYY-MM-DD') AS period
        FROM (${touched(DAY_MS)}) AS day
      ) AS touched
      CROSS JOIN LATERAL (
        SELECT coalesce(key_id, '') AS key_id, quarters, hours, usage, spent
        FROM (
          SELECT CASE WHEN grouping(key_id) = 0 THEN key_id ELSE '' END AS key_id,
                 sum(charge_pico) FILTER (WHERE width_ms = ${QUARTER_MS}) AS quarters,
                 sum(charge_pico) FILTER (WHERE width_ms = ${HOUR_MS}) AS hours,
                 sum(charge_pico) FILTER (WHERE width_ms = ${DAY_MS}) AS usage
          FROM usage_totals
          WHERE account_id = touched.account_id AND width_ms IN (${QUARTER_MS}, ${HOUR_MS}, ${DAY_MS})
            AND starts_at_ms >= touched.starts_at_ms AND starts_at_ms < touched.starts_at_ms + ${DAY_MS}
          GROUP BY GROUPING SETS ((key_id), ()) HAVING grouping(key_id) = 1 OR key_id <> ''
        ) AS used
        FULL JOIN (
          SELECT key_id, spent_pico AS spent FROM spend_totals
          WHERE account_id = touched.account_id AND spend_totals.period = touched.period AND NOT ${IS_GROUP}
        ) AS spend USING (key_id)
        WHERE quarters IS DISTINCT FROM usage OR quarters IS DISTINCT FROM hours OR quarters IS DISTINCT FROM spent
      ) AS wrong`,
  },
  {
    name: 'what an account and its keys spent in total is the sum of their days',
    reads: 'rows',
    sql: `
      SELECT touched.id, 'key ' || touched.key_id || ' of ' || touched.account_id || ': days ' || days || ', total ' || total AS detail
      FROM (
        SELECT account_id, key_id, min(id) AS id FROM scoped_calls
        GROUP BY GROUPING SETS ((account_id, key_id), (account_id))
        UNION ALL
        SELECT account_id, holder #>> '{}', min(id) FROM scoped_calls, jsonb_path_query(labels, '$.groups[*]') AS holder
        GROUP BY 1, 2
      ) AS touched
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(spent_pico) FILTER (WHERE period <> 'total'), 0) AS days,
               coalesce(sum(spent_pico) FILTER (WHERE period = 'total'), 0) AS total
        FROM spend_totals WHERE account_id = touched.account_id AND key_id = coalesce(touched.key_id, '')
      ) AS spend
      WHERE days <> total`,
  },
  {
    name: "the totals of an account's entries are its balance, and balance",
    reads: 'rows',
    sql: `
      SELECT touched.id, account.id || ': balance ' || account.balance_pico || ', totals ' || own || ', of all ledger accounts ' || every AS detail
      FROM (SELECT account_id, min(id) AS id FROM scoped_transactions GROUP BY account_id) AS touched
      JOIN accounts AS account ON account.id = touched.account_id
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'customer:' || account.id), 0) AS own,
               coalesce(sum(amount_pico), 0) AS every
        FROM ledger_totals WHERE account_id = account.id
      ) AS totals
      WHERE own <> account.balance_pico OR every <> 0`,
  },
  {
    name: 'what each project, tag and end user spent in a day is the sum of its calls',
    reads: 'rows',
    sql: `
      SELECT touched.id, touched.key_id || ' of ' || touched.account_id || ' on day ' || day || ': calls ' || charge || ', spent ' || spent AS detail
      FROM (
        SELECT account_id, holder #>> '{}' AS key_id, admitted_at_ms / ${DAY_MS} AS day, min(id) AS id
        FROM scoped_calls, jsonb_path_query(labels, '$.groups[*]') AS holder GROUP BY 1, 2, 3
      ) AS touched
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(charge_pico), 0) AS charge FROM call_records AS call
        WHERE call.account_id = touched.account_id AND labels -> 'groups' ? touched.key_id
          AND admitted_at_ms >= day * ${DAY_MS} AND admitted_at_ms < (day + 1) * ${DAY_MS}
      ) AS calls
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(spent_pico), 0) AS spent FROM spend_totals
        WHERE spend_totals.account_id = touched.account_id AND spend_totals.key_id = touched.key_id
          AND period = to_char(date '1970-01-01' + day::integer, '"d"YYYY-MM-DD')
      ) AS total
      WHERE charge <> spent AND day * ${DAY_MS} >= coalesce((${FIRST_MONTH_MS}) + ${HOUR_MS}, 0)`,
  },
]
