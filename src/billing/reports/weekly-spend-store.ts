import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** A model, as named in requests, or an API key, with what its calls of the week cost, USD × 10^12. */
export interface SpendShare {
  name: string
  chargePico: bigint
}

/** An account's calls of a week, with the charges of that week and of the one before, USD × 10^12. */
export interface WeeklySpend {
  calls: bigint
  failedCalls: bigint
  spentPico: bigint
  spentBeforePico: bigint
  /** What the account has left at the time of reading. */
  balancePico: bigint
  /** Those with the highest cost, the highest first. */
  models: SpendShare[]
  keys: SpendShare[]
}

const SHARES_MAX = 3

const share = (name: string, from: string) => `(
  SELECT coalesce(json_agg(json_build_object('name', name, 'chargePico', charge::text) ORDER BY charge DESC, name), '[]')
  FROM (
    SELECT ${name} AS name, sum(charge_pico) AS charge FROM ${from} WHERE is_week AND charge_pico > 0
    GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${SHARES_MAX}
  ) AS highest)`

/** Totals of whole days of two weeks: no call is read. */
const SPEND = `
WITH usage AS MATERIALIZED (
  SELECT starts_at_ms >= $3::bigint AS is_week, key_id, requested_model, sum(calls) AS calls,
         sum(failed_calls) AS failed_calls, sum(charge_pico) AS charge_pico
  FROM usage_totals
  WHERE account_id = $1 AND width_ms = ${DAY_MS} AND starts_at_ms >= $2::bigint AND starts_at_ms < $4::bigint
  GROUP BY 1, 2, 3
)
SELECT coalesce(sum(calls) FILTER (WHERE is_week), 0)::text AS "calls",
       coalesce(sum(failed_calls) FILTER (WHERE is_week), 0)::text AS "failedCalls",
       coalesce(sum(charge_pico) FILTER (WHERE is_week), 0)::text AS "spentPico",
       coalesce(sum(charge_pico) FILTER (WHERE NOT is_week), 0)::text AS "spentBeforePico",
       (SELECT balance_pico::text FROM accounts WHERE id = $1) AS "balancePico",
       ${share('requested_model', 'usage')} AS "models",
       ${share("coalesce(nullif(key.name, ''), key_id)", 'usage LEFT JOIN api_keys AS key ON key.id = key_id')} AS "keys"
FROM usage`

/** People who asked for the message about a week, after an id. */
const PEOPLE = `
SELECT id FROM accounts
WHERE weekly_mail AND id > $1 AND state <> 'suspended' AND email_verified_at IS NOT NULL ORDER BY id LIMIT $2`

/** Their accounts and organisations with calls in the week. */
const RECIPIENTS = `
SELECT account.id AS "accountId", person.id AS "personId"
FROM unnest($1::text[]) AS person (id)
CROSS JOIN LATERAL (
  SELECT person.id AS account_id UNION ALL
  SELECT account_id FROM organisation_members WHERE person_id = person.id AND role IN ('owner', 'billing')
) AS concerned JOIN accounts AS account ON account.id = concerned.account_id
WHERE account.state <> 'suspended' AND EXISTS (
  SELECT FROM usage_totals
  WHERE account_id = account.id AND width_ms = ${DAY_MS} AND starts_at_ms >= $2::bigint AND starts_at_ms < $3::bigint
    AND calls > 0
)`

export interface WeeklyRecipient {
  accountId: string
  personId: string
}

type Row = Record<'calls' | 'failedCalls' | 'spentPico' | 'spentBeforePico' | 'balancePico', string> &
  Record<'models' | 'keys', Array<{ name: string; chargePico: string }>>

/** Spend by week from Monday to Sunday (UTC), and who asked for a message about it. Times are unix ms. */
export function createWeeklySpendStore(postgres: Pick<Postgres, '$queryRawUnsafe'>) {
  return {
    async spend(accountId: string, week: { startsAt: number; endsAt: number }): Promise<WeeklySpend> {
      const times = [2 * week.startsAt - week.endsAt, week.startsAt, week.endsAt].map(BigInt)
      const [row] = await postgres.$queryRawUnsafe<Row[]>(SPEND, accountId, ...times)
      if (!row) throw new Error('the sums of a week returned no row')
      const { models, keys, ...sums } = row
      return {
        calls: BigInt(sums.calls),
        failedCalls: BigInt(sums.failedCalls),
        spentPico: BigInt(sums.spentPico),
        spentBeforePico: BigInt(sums.spentBeforePico),
        balancePico: BigInt(sums.balancePico),
        models: models.map(toShare),
        keys: keys.map(toShare),
      }
    },

    async people(afterId: string, limit: number): Promise<string[]> {
      const people = await postgres.$queryRawUnsafe<Array<{ id: string }>>(PEOPLE, afterId, limit)
      return people.map(({ id }) => id)
    },

    recipients: (
      personIds: readonly string[],
      { startsAt, endsAt }: { startsAt: number; endsAt: number },
    ): Promise<WeeklyRecipient[]> =>
      postgres.$queryRawUnsafe(RECIPIENTS, personIds, BigInt(startsAt), BigInt(endsAt)),
  }
}

const toShare = ({ name, chargePico }: { name: string; chargePico: string }): SpendShare => ({
  name,
  chargePico: BigInt(chargePico),
})
