/** Kinds of messages about events that an account holder can turn off. */
export const MAIL_PREFERENCES = ['low_balance', 'key_limit', 'provider_key'] as const

/** All kinds that a person chooses; `weekly_spend` is sent to those who turned it on. */
export type MailPreference = (typeof MAIL_PREFERENCES)[number] | 'weekly_spend'
