/** Kinds of messages about events that an account holder can turn off. */
export const MAIL_PREFERENCES = ['low_balance', 'key_limit', 'provider_key'] as const
export type MailPreference = (typeof MAIL_PREFERENCES)[number]
