import type { ReactNode } from 'react'
import type { ConfirmedBody } from '../../../src/core/api/second-factor.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { TextField } from '../../components/form/fields.tsx'
import type { FieldOf } from '../../components/form/form.tsx'

/** Asks for the password before a change of the sign-in. */
export function PasswordDialog<Result>(props: {
  title: string
  submit: string
  pending?: string
  kind?: 'primary' | 'danger'
  children?: ReactNode
  send: (body: ConfirmedBody) => Promise<Result>
  stale?: readonly string[]
  done?: string
  onDone?: (result: Result) => void
  onClose: () => void
}) {
  const { children, send, pending = 'Working …', ...dialog } = props
  return (
    <FormDialog
      {...dialog}
      pending={pending}
      initial={{ current_password: '' }}
      check={({ current_password: password }) => ({
        current_password: password === '' ? 'Enter your current password.' : null,
      })}
      send={(values) => send(values)}
    >
      {(field) => (
        <>
          {children}
          <CurrentPassword field={field('current_password')} />
        </>
      )}
    </FormDialog>
  )
}

/** The field of the current password. */
export function CurrentPassword({ field }: { field: ReturnType<FieldOf<{ current_password: string }>> }) {
  return (
    <TextField label="Current password" type="password" autoComplete="current-password" {...field} required />
  )
}
