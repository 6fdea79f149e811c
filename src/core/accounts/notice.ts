/** What account holders are told of their sign-in, in case it was not them. */
export const NOTICES = {
  password_changed: 'The password of your account was changed, and all other sessions ended.',
  password_reset: 'The password of your account was reset with a link, and all sessions ended.',
} as const
export type NoticeKind = keyof typeof NOTICES
