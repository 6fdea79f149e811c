import { EMAIL, NEW_PASSWORD } from '../../components/form/field-specs.ts'
import type { FieldSpec } from '../../components/form/form.tsx'

/** The email address of an account, with the names that password managers look for. */
export const SIGN_IN_EMAIL = { ...EMAIL, name: 'email', autoComplete: 'username' } satisfies FieldSpec

/** The password of an account. */
export const PASSWORD = {
  label: 'Password',
  type: 'password',
  name: 'password',
  autoComplete: 'current-password',
  required: 'Enter your password.',
  exact: true,
} satisfies FieldSpec

/** The password that is chosen for an account. */
export const CHOSEN_PASSWORD = {
  ...NEW_PASSWORD,
  label: 'Password',
  name: 'password',
  hint: 'At least 10 characters. Tip: use a passphrase of several words.',
} satisfies FieldSpec
