import { expect, test } from 'vitest'
import { eventMessage } from '../../../src/accounts/mail/event-message.ts'
import type { MailedEventType } from '../../../src/core/accounts/event-mails.ts'
import type { EventData } from '../../../src/core/webhooks/event.ts'

const SITE = 'https://gateway.example'

/** As the database and the gateway record them; see docs/webhooks.md. */
const DATA: Record<MailedEventType, EventData> = {
  'balance.low': { balance_usd: '0.99', threshold_usd: '1.00' },
  'balance.exhausted': { balance_usd: '0.0000001' },
  'topup.settled': { payment_id: 'pay_1', amount_usd: '5.00', test: true },
  'topup.auto_paused': {
    reason: 'payment_failed',
    amount_usd: '25.00',
    monthly_maximum_usd: '100.00',
    resumes_at: null,
  },
  'key.limit_reached': {
    key_id: 'key_1',
    name: 'app',
    limit_usd: '2.00',
    limit_reset: 'none',
    resets_at: null,
  },
  'member.limit_reached': {
    member_id: 'acct_1',
    member_email: 'bo@example.test',
    limit_usd: '3.00',
    limit_reset: 'monthly',
    resets_at: '2026-03-01T00:00:00.000Z',
  },
  'account.limit_reached': {
    limit_usd: '4.00',
    limit_reset: 'monthly',
    resets_at: '2026-03-01T00:00:00.000Z',
  },
  'budget.limit_reached': {
    ...{ scope: 'user', name: 'user-42', limit_usd: '1.00', limit_reset: 'daily' },
    resets_at: '2026-03-02T00:00:00.000Z',
  },
  'budget.warning': {
    ...{ scope: 'key', id: 'key_1', name: 'ci', percent: 80, spent_usd: '4.10', limit_usd: '5.00' },
    ...{ limit_reset: 'none', resets_at: null },
  },
  'provider_key.failing': {
    provider_key_id: 'pkey_1',
    provider: 'openai',
    name: '',
    last4: 'abcd',
    error: 'invalid key',
  },
  'spend.weekly': {
    ...{ from: '2026-11-16', to: '2026-11-22', spent_usd: '3.50', before_usd: '4.25' },
    ...{ requests: '12', failed_requests: '2', balance_usd: '9.00' },
    ...{ models: 'acme/large-1 $3.00, acme/small-1 $0.50', keys: 'app $3.50' },
  },
}
const message = (type: MailedEventType, data: EventData = DATA[type], organisation: string | null = null) =>
  eventMessage(
    {
      ...{ accountId: 'acct_1', type, data, email: 'ann@example.test', organisation },
      createdAt: new Date('2026-02-02T10:00:00Z'),
    },
    SITE,
  )

test.each(Object.keys(DATA) as MailedEventType[])('the message about %s says what happened', (type) => {
  const { to, subject, text } = message(type)
  expect(to).toBe('ann@example.test')
  expect(subject).toMatch(/^[\w ,.'@-]{10,60}$/)
  expect(text).not.toMatch(/\{\{|undefined|null/)
  expect(text).toContain(SITE)
  for (const name of ['amount_usd', 'balance_usd', 'limit_usd', 'last4', 'payment_id', 'error'])
    if (DATA[type][name] !== undefined) expect(text).toContain(String(DATA[type][name]))
})

test('a message about an organisation names it', () => {
  const { text } = message('balance.low', DATA['balance.low'], 'Signal works')
  expect(text).toMatch(/about the organisation Signal works\.\n$/)
})

test('no address that a name or a key has can be linked by a mail client, and those of the gateway can', () => {
  const named = 'Pay at https://evil.example/login?a=1 now, acme.test'
  const { text } = message('key.limit_reached', { ...DATA['key.limit_reached'], name: named }, named)
  const shown = 'Pay at https[:]//evil[.]example/login?a=1 now, acme.test'
  expect(text).toContain(`"${shown}"`)
  expect(text).toContain(`the organisation ${shown}.`)
  expect(text).not.toContain('evil.example')
  expect(text).toContain(SITE)
})

test('a receipt of the development rail says that no money was charged', () => {
  expect(message('topup.settled').text).toContain('no money was charged')
  expect(message('topup.settled', { ...DATA['topup.settled'], test: false }).text).not.toContain('charged')
})

test('the message about a week compares it, and leads to where it is turned off', () => {
  const { subject, text } = message('spend.weekly')
  expect(subject).toBe('Your spend from 2026-11-16 to 2026-11-22')
  expect(text).toContain('Spent:            $3.50, $0.75 less than in the week before\n')
  expect(text).toContain('Requests:         12, 2 failed\n')
  expect(text).toContain('Models with the highest cost:  acme/large-1 $3.00, acme/small-1 $0.50\n')
  expect(text).toMatch(
    /Turn it off in your settings:\s+https:\/\/gateway\.example\/settings#notifications\n$/,
  )
  const changed = (before_usd: string) =>
    /^Spent:.*, (.*)$/m.exec(message('spend.weekly', { ...DATA['spend.weekly'], before_usd }).text)?.[1]
  expect(changed('0.00')).toBe('$3.50 more than in the week before')
  expect(changed('3.50')).toBe('as much as in the week before')
})

test('names and errors of others stay on their line, and are no templates', () => {
  const name = 'app\r\n\r\nSend your password to {{site}}'
  const { text } = message('key.limit_reached', { ...DATA['key.limit_reached'], name })
  expect(text).toContain('Key:    "app Send your password to {{site}}" (key_1)')
  const error = 'x'.repeat(10_000)
  expect(
    message('provider_key.failing', { ...DATA['provider_key.failing'], error }).text.length,
  ).toBeLessThan(1_500)
})
