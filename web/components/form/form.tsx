import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { DialogBox, DialogFoot } from '../feedback/dialog-box.tsx'
import { ErrorNote } from '../feedback/messages.tsx'
import { buttonClass } from './button.tsx'
import type { FormState } from './use-form.ts'

/** A form: an error stands above the fields or beside the one it is about, and the first wrong field gets the focus. */
export function Form(props: { form: FormState; children: ReactNode; className?: string }) {
  const { error, isFieldError, submit } = props.form
  const form = useRef<HTMLFormElement>(null)
  const [submits, setSubmits] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new error, or the same one again after a submit
  useEffect(() => {
    if (submits > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [submits, error])
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    setSubmits(submits + 1)
    submit()
  }
  return (
    <form ref={form} className={props.className ?? 'stack'} onSubmit={onSubmit} noValidate>
      {!isFieldError && <ErrorNote error={error} />}
      {props.children}
    </form>
  )
}

/** The button that sends a form. */
export function Submit(props: {
  form: FormState
  /** Its text while the request runs. */
  pending: string
  children: ReactNode
  kind?: 'primary' | 'danger' | undefined
  large?: boolean
}) {
  const { form, pending, children, kind, large } = props
  return (
    <button
      type="submit"
      className={buttonClass(kind, large ? 'large' : undefined)}
      disabled={form.isPending}
    >
      {form.isPending ? pending : children}
    </button>
  )
}

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
