import type { EventData } from '../../core/operations/event.ts'
import type { MailedEventType } from '../../core/operations/event-mails.ts'
import type { MailMessage } from '../../platform/network/mailer.ts'
import { inWords, type MailTemplate, mailMessage } from './mail-message.ts'

export interface MailedEvent {
  type: MailedEventType
  /** The account holder's address. */
  email: string
  data: EventData
  createdAt: Date
}

const TEMPLATES: Record<MailedEventType, MailTemplate> = {
  'balance.low': 'balance-low',
  'balance.exhausted': 'balance-exhausted',
  'topup.settled': 'receipt',
  'key.limit_reached': 'key-limit-reached',
  'provider_key.failing': 'provider-key-failing',
}

/** The message about an event. */
export function eventMessage({ type, email, data, createdAt }: MailedEvent, site: string): MailMessage {
  const facts = Object.entries(data).map(([name, value]) => [name, String(value ?? '')])
  return mailMessage(TEMPLATES[type], email, {
    ...Object.fromEntries(facts),
    site,
    time: inWords(createdAt),
    ...wordsOf(type, data),
  })
}

/** What templates say in words instead of the data's own values. */
function wordsOf(type: MailedEventType, data: EventData): Record<string, string> {
  switch (type) {
    case 'topup.settled':
      return { test: data.test === true ? ' (a test: no money was charged)' : '' }
    case 'key.limit_reached':
      return {
        key: nameOr(data.name, 'without a name'),
        reset: data.resets_at
          ? `The limit resets at ${String(data.resets_at)}.`
          : 'The limit does not reset by itself.',
      }
    case 'provider_key.failing':
      return { key: nameOr(data.name, 'without a name') }
    case 'balance.low':
    case 'balance.exhausted':
      return {}
    default:
      return type satisfies never
  }
}

const nameOr = (name: EventData[string] | undefined, otherwise: string): string =>
  name ? `"${String(name)}"` : otherwise
