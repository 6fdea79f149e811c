import type { MailedEventType } from '../../core/accounts/event-mails.ts'
import { formatUsd, parseUsd } from '../../core/kernel/money.ts'
import type { EventData } from '../../core/webhooks/event.ts'
import { inWords, type MailTemplate, mailMessage, shownFact, type TemplateMail } from './mail-message.ts'

export interface MailedEvent {
  /** The account whose event it is. */
  accountId: string
  type: MailedEventType
  /** The recipient's address. */
  email: string
  /** The name of the organisation concerned; null: the recipient's own account. */
  organisation: string | null
  data: EventData
  createdAt: Date
}

const TEMPLATES: Record<MailedEventType, MailTemplate> = {
  'balance.low': 'balance-low',
  'balance.exhausted': 'balance-exhausted',
  'topup.settled': 'receipt',
  'topup.auto_paused': 'auto-top-up-paused',
  'key.limit_reached': 'key-limit-reached',
  'member.limit_reached': 'member-budget-reached',
  'account.limit_reached': 'spend-cap-reached',
  'budget.limit_reached': 'group-budget-reached',
  'budget.warning': 'budget-warning',
  'provider_key.failing': 'provider-key-failing',
  'spend.weekly': 'weekly-spend',
}

export function eventMessage(event: MailedEvent, site: string): TemplateMail {
  const { type, email, organisation, data, createdAt } = event
  const facts = Object.entries(data).map(([name, value]) => [name, String(value ?? '')])
  const message = mailMessage(TEMPLATES[type], email, {
    ...Object.fromEntries(facts),
    site,
    time: inWords(createdAt),
    ...wordsOf(type, data),
  })
  if (organisation === null) return message
  return {
    ...message,
    text: `${message.text.trimEnd()}\n\nThis is about the organisation ${shownFact(organisation)}.\n`,
  }
}

/** The texts of templates in place of raw data. */
function wordsOf(type: MailedEventType, data: EventData): Record<string, string> {
  switch (type) {
    case 'topup.settled':
      return { test: data.test === true ? ' (a test: no money was charged)' : '' }
    case 'topup.auto_paused':
      return {
        why: WHY_PAUSED[String(data.reason)] ?? 'The saved card could not be charged.',
        resumes: data.resumes_at
          ? `They resume at ${String(data.resumes_at)}.`
          : 'They resume when you replace the card, or choose Save and resume.',
      }
    case 'key.limit_reached':
      return { key: nameOr(data.name, 'without a name'), reset: resetOf('limit', data) }
    case 'member.limit_reached':
    case 'budget.limit_reached':
      return { reset: resetOf('budget', data) }
    case 'account.limit_reached':
      return { reset: resetOf('cap', data) }
    case 'budget.warning':
      return { ...whoseBudget(data), reset: resetOf('budget', data) }
    case 'provider_key.failing':
      return {
        key: nameOr(data.name, 'without a name'),
        why: WHY_FAILING[String(data.error)] ?? String(data.error),
      }
    case 'spend.weekly':
      return { change: changeOf(parseUsd(String(data.spent_usd)) - parseUsd(String(data.before_usd))) }
    case 'balance.low':
    case 'balance.exhausted':
      return {}
    default:
      return type satisfies never
  }
}

/** Whose budget it is, and the page on which it is changed. */
function whoseBudget({ scope, name }: EventData): { whose: string; page: string } {
  switch (scope) {
    case 'account':
      return { whose: 'your account', page: '/billing?tab=limits' }
    case 'key':
      return { whose: `the API key ${String(name)}`, page: '/keys' }
    case 'member':
      return { whose: `the member ${String(name)}`, page: '/members' }
    default:
      return { whose: `${String(scope)} ${String(name)}`, page: '/budgets' }
  }
}

const WHY_PAUSED: Record<string, string> = {
  payment_failed: 'The saved card was declined.',
  authentication_required: 'Your bank requires you to confirm payments with the saved card.',
  monthly_maximum: 'Another top-up would exceed your maximum for this month.',
}

const WHY_FAILING: Record<string, string> = {
  unauthorized: 'the provider does not accept the key',
  payment_required: 'the provider asks for payment',
  forbidden: 'the provider does not permit the key to do what was asked',
  unreachable: 'the provider could not be reached',
}

function changeOf(morePico: bigint): string {
  if (morePico === 0n) return 'as much as in the week before'
  const amount = `$${formatUsd(morePico < 0n ? -morePico : morePico)}`
  return `${amount} ${morePico < 0n ? 'less' : 'more'} than in the week before`
}

const resetOf = (limit: string, { resets_at }: EventData): string =>
  resets_at ? `The ${limit} resets at ${String(resets_at)}.` : `The ${limit} does not reset by itself.`

const nameOr = (name: EventData[string] | undefined, otherwise: string): string =>
  name ? `"${String(name)}"` : otherwise
