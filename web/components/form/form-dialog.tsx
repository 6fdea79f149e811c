import type { ReactNode } from 'react'
import { DialogBox, DialogFoot } from '../feedback/dialog-box.tsx'
import { Form, Submit } from './form.tsx'
import type { FormState } from './use-form.ts'

/** A form in a dialog. `submit` and `pending` are the texts of its button, before and while the request runs. */
export function FormDialog(props: {
  title: string
  form: FormState
  submit: string
  pending: string
  kind?: 'primary' | 'danger'
  onClose: () => void
  children: ReactNode
}) {
  const { title, form, submit, pending, kind = 'primary', onClose, children } = props
  return (
    <DialogBox title={title} onClose={onClose}>
      <Form form={form}>
        {children}
        <DialogFoot onClose={onClose}>
          <Submit form={form} kind={kind} pending={pending}>
            {submit}
          </Submit>
        </DialogFoot>
      </Form>
    </DialogBox>
  )
}
