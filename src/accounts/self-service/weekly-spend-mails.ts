import {
  createWeeklySpendStore,
  type SpendShare,
  type WeeklySpend,
} from '../../billing/reports/weekly-spend-store.ts'
import { allowancePeriod } from '../../core/billing/allowance-period.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { DAY_MS, HOUR_MS, isoTime } from '../../core/kernel/time.ts'
import { type EventData, eventIdOf } from '../../core/webhooks/event.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** Most calls that began before midnight are settled by then. */
const FIRST_AFTER_MS = 6 * HOUR_MS
/** Afterwards a week is no longer worth a message. Less than events are kept, by which it is known that one was made. */
const LAST_AFTER_MS = 3 * DAY_MS
const PEOPLE_AT_ONCE = 500

interface Week {
  startsAt: number
  endsAt: number
}

/** The week (UTC, from Monday) that messages are made about now; null: about none. */
export function reportedWeek(nowMs: number): Week | null {
  const endsAt = allowancePeriod('weekly', nowMs).startsAt
  const afterMs = nowMs - endsAt
  return afterMs < FIRST_AFTER_MS || afterMs >= LAST_AFTER_MS
    ? null
    : { startsAt: endsAt - 7 * DAY_MS, endsAt }
}

/**
 * Makes the messages about last week's spend that are missing, for the people who asked for them, about accounts with
 * calls in that week. The event is identified by account and week and the message by event and person, so any number of
 * runs and processes makes each once; they are sent like all messages about events. Returns how many were made.
 */
export async function makeWeeklySpendMails(
  { postgres, clock }: { postgres: Postgres; clock: () => number },
  stopping?: AbortSignal,
): Promise<{ messages: number }> {
  const week = reportedWeek(clock())
  const store = createWeeklySpendStore(postgres)
  let messages = 0
  for (let afterId: string | undefined = ''; week && afterId !== undefined && !stopping?.aborted; ) {
    const people = await store.people(afterId, PEOPLE_AT_ONCE)
    for (const [eventId, { accountId, personIds }] of await missing(postgres, people, week)) {
      const data = eventData(await store.spend(accountId, week), week)
      messages += await add(postgres, { eventId, accountId, data, personIds })
    }
    afterId = people.length < PEOPLE_AT_ONCE ? undefined : people.at(-1)
  }
  return { messages }
}

/** The events of a week of these people's accounts that someone has no message about, with those people. */
async function missing(postgres: Postgres, people: readonly string[], week: Week) {
  const recipients = (await createWeeklySpendStore(postgres).recipients(people, week)).map((recipient) => ({
    ...recipient,
    eventId: eventIdOf('spend.weekly', `${recipient.accountId}:${week.startsAt}`),
  }))
  const made = await postgres.eventMail.findMany({
    where: { eventId: { in: recipients.map(({ eventId }) => eventId) } },
    select: { eventId: true, accountId: true },
  })
  const known = new Set(made.map(({ eventId, accountId }) => `${eventId} ${accountId}`))
  const events = new Map<string, { accountId: string; personIds: string[] }>()
  for (const { eventId, accountId, personId } of recipients) {
    if (known.has(`${eventId} ${personId}`)) continue
    const event = events.get(eventId) ?? { accountId, personIds: [] }
    event.personIds.push(personId)
    events.set(eventId, event)
  }
  return events
}

const eventData = (spend: WeeklySpend, { startsAt, endsAt }: Week): EventData => ({
  from: isoTime(startsAt).slice(0, 10),
  to: isoTime(endsAt - 1).slice(0, 10),
  spent_usd: formatUsd(spend.spentPico),
  before_usd: formatUsd(spend.spentBeforePico),
  requests: String(spend.calls),
  failed_requests: String(spend.failedCalls),
  balance_usd: formatUsd(spend.balancePico),
  models: inOrder(spend.models),
  keys: inOrder(spend.keys),
})

const inOrder = (shares: readonly SpendShare[]): string =>
  shares.map(({ name, chargePico }) => `${name} $${formatUsd(chargePico)}`).join(', ') || 'none had a cost'

/** The event is fanned out already: it has no webhooks. */
const ADD = `
WITH event AS (
  INSERT INTO events (id, type, account_id, data, fanned_out_at) VALUES ($1, 'spend.weekly', $2, $3::jsonb, now())
  ON CONFLICT (id) DO NOTHING
)
INSERT INTO event_mails (event_id, account_id)
SELECT $1, person_id FROM unnest($4::text[]) AS person_id ORDER BY person_id
ON CONFLICT (event_id, account_id) DO NOTHING`

const add = (
  postgres: Postgres,
  event: { eventId: string; accountId: string; data: EventData; personIds: string[] },
): Promise<number> =>
  postgres.$executeRawUnsafe(ADD, event.eventId, event.accountId, JSON.stringify(event.data), event.personIds)
