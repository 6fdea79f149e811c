import { TextField } from '../../components/form/fields.tsx'
import type { FieldOf } from '../../components/form/form.tsx'

type Field = ReturnType<FieldOf<Record<string, string>>>

/** The email address of an account. */
export const EmailField = ({ field }: { field: Field }) => (
  <TextField
    label="Email address"
    type="email"
    name="email"
    autoComplete="username"
    inputMode="email"
    {...field}
    required
  />
)

/** The password of an account. `isNew`: it is chosen here. */
export const PasswordField = (props: { field: Field; label?: string; isNew?: boolean }) => {
  const { field, label = 'Password', isNew = false } = props
  return (
    <TextField
      label={label}
      type="password"
      name="password"
      autoComplete={isNew ? 'new-password' : 'current-password'}
      {...field}
      hint={isNew && 'At least 10 characters. Tip: use a passphrase of several words.'}
      required
    />
  )
}
