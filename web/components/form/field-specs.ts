import { emailProblem, newPasswordProblem } from '../../lib/checks.ts'
import type { FieldSpec } from './form.tsx'

/** Fields that several forms ask for. */

export const CURRENT_PASSWORD = {
  label: 'Current password',
  type: 'password',
  autoComplete: 'current-password',
  required: 'Enter your current password.',
  exact: true,
} satisfies FieldSpec

export const NEW_PASSWORD = {
  label: 'New password',
  type: 'password',
  autoComplete: 'new-password',
  required: true,
  check: newPasswordProblem,
  exact: true,
} satisfies FieldSpec

export const EMAIL = {
  label: 'Email address',
  type: 'email',
  inputMode: 'email',
  required: true,
  check: emailProblem,
} satisfies FieldSpec

/** A check that lets an empty value pass. */
export const optional =
  (check: (text: string) => string | null) =>
  (text: string): string | null =>
    text === '' ? null : check(text)

/** Of an operator's change, for the audit log. */
export const AUDIT_REASON = {
  label: 'Reason',
  required: 'Enter a reason for the audit log.',
} satisfies FieldSpec

/** The email address of an account, with the names that password managers look for. */
export const SIGN_IN_EMAIL = { ...EMAIL, name: 'email', autoComplete: 'username' } satisfies FieldSpec

/** The password of an account. */
export const PASSWORD = {
  ...CURRENT_PASSWORD,
  label: 'Password',
  name: 'password',
  required: 'Enter your password.',
} satisfies FieldSpec

/** The password that is chosen for an account. */
export const CHOSEN_PASSWORD = {
  ...NEW_PASSWORD,
  label: 'Password',
  name: 'password',
  hint: 'At least 10 characters. Tip: use a passphrase of several words.',
} satisfies FieldSpec
