import type { MailOnlyEventType, SubscribedEventType } from '../webhooks/event.ts'
import type { MailPreference } from './mail-preference.ts'

/** Messages about events, with the preference that turns each off; null: always sent, like a receipt. */
export const EVENT_MAILS = {
  'balance.low': 'low_balance',
  'balance.exhausted': 'low_balance',
  'topup.settled': null,
  'topup.auto_paused': null,
  'key.limit_reached': 'key_limit',
  'member.limit_reached': 'key_limit',
  'account.limit_reached': 'key_limit',
  'budget.limit_reached': 'key_limit',
  'budget.warning': 'key_limit',
  'provider_key.failing': 'provider_key',
} as const satisfies { [type in SubscribedEventType]?: MailPreference | null }

export type MailedEventType = keyof typeof EVENT_MAILS | MailOnlyEventType

export const isMailed = (type: string): type is MailedEventType =>
  type in EVENT_MAILS || type === ('spend.weekly' satisfies MailOnlyEventType)
