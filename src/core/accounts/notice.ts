/** Messages to account holders about changes of their sign-in, in case they did not make them. */
export const NOTICES = {
  password_changed: 'The password of your account was changed, and all other sessions ended.',
  password_reset: 'The password of your account was reset with a link, and all sessions ended.',
  totp_added:
    "An authenticator app was added to your account. You'll be asked for a code from the app when you sign in.",
  totp_removed: 'The authenticator app of your account was removed.',
  passkey_added: 'A passkey was added to your account.',
  passkey_removed: 'A passkey of your account was removed.',
  recovery_codes_replaced: 'New recovery codes of your account were made. Earlier ones no longer work.',
  recovery_code_used: 'Someone signed in to your account with one of its recovery codes.',
  identity_linked: 'Another service was linked to your account, and signs in to it.',
  identity_unlinked: 'A service that signed in to your account was removed.',
} as const
export type NoticeKind = keyof typeof NOTICES
