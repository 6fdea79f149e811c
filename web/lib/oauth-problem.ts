const PROBLEMS: Readonly<Record<string, string>> = {
  failed: 'Signing in with the other service failed or was cancelled. Try again.',
  email_not_verified:
    'The other service has not verified your email address. Verify it there, then try again.',
  email_taken:
    'Your email address has an account here whose address is not verified. Sign in with its password, and link the service in the settings.',
  identity_taken: 'This account of the other service is linked already, here or to another account.',
  suspended: 'This account is suspended. Contact the operator.',
  sign_up_closed: 'Sign-up is closed. Ask the operator of this gateway for an account.',
}

const OPERATOR_PROBLEMS: Readonly<Record<string, string>> = {
  failed: 'Single sign-on failed or was cancelled. Try again.',
  email_not_verified:
    'The sign-on provider does not state that your email address is verified. Ask who administers it.',
  unknown_operator:
    'You are not an operator of this gateway. Ask an admin to add you with your email address.',
  operator_disabled: 'Your access to this gateway is disabled. Contact an admin.',
}

/** Why an operator's single sign-on did not work; null without a problem. */
export const operatorProblem = (code: string | undefined): string | null =>
  code === undefined ? null : (OPERATOR_PROBLEMS[code] ?? OPERATOR_PROBLEMS.failed ?? null)

/** Why signing in with another service did not work; null without a problem. */
export const oauthProblem = (code: string | undefined): string | null =>
  code === undefined ? null : (PROBLEMS[code] ?? PROBLEMS.failed ?? null)
