import { expect, test } from 'vitest'
import type { AccountLedgerRow } from '../../src/core/api/account-ledger.ts'
import type { SentMailView } from '../../src/core/api/accounts.ts'
import type { OperatorCall } from '../../src/core/api/calls.ts'
import type { AlarmView, OperatorActionView } from '../../src/core/api/operations.ts'
import { accountTimeline } from '../../web/lib/operators/account-timeline.ts'

const day = (of: number) => `2027-01-${String(of).padStart(2, '0')}T12:00:00.000Z`
const failure = (of: number) => ({ id: `call-${of}`, admitted_at: day(of), status: 'failed' }) as OperatorCall
const money = (of: number) => ({ id: `money-${of}`, at: day(of), kind: 'topup' }) as AccountLedgerRow
const mail = (of: number) => ({ id: `mail-${of}`, created_at: day(of), kind: 'receipt' }) as SentMailView
const change = (of: number) => ({ id: `change-${of}`, at: day(of) }) as OperatorActionView
const alarm = (of: number) => ({ id: `alarm-${of}`, first_at: day(of) }) as AlarmView

const keysOf = (changes: Partial<Parameters<typeof accountTimeline>[0]>) =>
  accountTimeline({
    from: '2027-01-02',
    failures: { rows: [failure(9), failure(4)], hasOlder: false },
    money: { rows: [money(10), money(3)], hasOlder: false },
    mails: { rows: [mail(8)], hasOlder: false },
    changes: [change(7), change(1)],
    alarms: [alarm(6)],
    ...changes,
  }).map(({ key }) => key)

test('an account’s calls, money, messages, changes and alarms are one list, newest first, of the period alone', () => {
  expect(keysOf({})).toEqual(['money-10', 'call-9', 'mail-8', 'change-7', 'alarm-6', 'call-4', 'money-3'])
})

test('the list ends where one of its sources has more than is known, so that nothing is missing in between', () => {
  expect(keysOf({ mails: { rows: [mail(8)], hasOlder: true } })).toEqual(['money-10', 'call-9', 'mail-8'])
  expect(keysOf({ failures: { rows: [], hasOlder: false } })).toHaveLength(5)
})
