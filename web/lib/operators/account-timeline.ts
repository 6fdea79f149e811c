import type { AccountLedgerRow } from '../../../src/core/api/account-ledger.ts'
import type { SentMailView } from '../../../src/core/api/accounts.ts'
import type { OperatorCall } from '../../../src/core/api/calls.ts'
import type { AlarmView, OperatorActionView } from '../../../src/core/api/operations.ts'

/** Something that happened to an account. */
export type TimelineEntry = { at: string; key: string } & (
  | { kind: 'call'; call: OperatorCall }
  | { kind: 'money'; row: AccountLedgerRow }
  | { kind: 'mail'; mail: SentMailView }
  | { kind: 'change'; action: OperatorActionView }
  | { kind: 'alarm'; alarm: AlarmView }
)

const ENTRIES_MAX = 40

/** A list of which perhaps only the newest are known. */
interface Newest<T> {
  rows: readonly T[]
  hasOlder: boolean
}

/**
 * Failed calls, money, messages, changes and alarms in one list, newest first; calls that completed are in the charges of
 * their day. It ends with the oldest known row of a list that has older ones, so that nothing is missing in between.
 */
export function accountTimeline(sources: {
  from: string
  failures: Newest<OperatorCall>
  money: Newest<AccountLedgerRow>
  mails: Newest<SentMailView>
  changes: readonly OperatorActionView[]
  alarms: readonly AlarmView[]
}): TimelineEntry[] {
  const { failures, money, mails, changes, alarms } = sources
  const ends = [
    sources.from,
    failures.hasOlder && failures.rows.at(-1)?.admitted_at,
    money.hasOlder && money.rows.at(-1)?.at,
    mails.hasOlder && mails.rows.at(-1)?.created_at,
  ].filter((end) => typeof end === 'string')
  const since = ends.sort().at(-1) ?? ''
  const entries: TimelineEntry[] = [
    ...failures.rows.map((call) => ({ kind: 'call' as const, at: call.admitted_at, key: call.id, call })),
    ...money.rows.map((row) => ({ kind: 'money' as const, at: row.at, key: row.id, row })),
    ...mails.rows.map((mail) => ({ kind: 'mail' as const, at: mail.created_at, key: mail.id, mail })),
    ...changes.map((action) => ({ kind: 'change' as const, at: action.at, key: action.id, action })),
    ...alarms.map((alarm) => ({ kind: 'alarm' as const, at: alarm.first_at, key: alarm.id, alarm })),
  ]
  return entries
    .filter(({ at }) => at >= since)
    .sort((one, other) => (one.at < other.at ? 1 : -1))
    .slice(0, ENTRIES_MAX)
}
