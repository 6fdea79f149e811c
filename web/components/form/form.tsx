import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { RequestFailure } from '../../api/request.ts'
import { type Change, useChange } from '../../api/use-change.ts'
import { DialogBox, DialogFoot } from '../feedback/dialog-box.tsx'
import { ErrorNote } from '../feedback/messages.tsx'
import { buttonClass } from './button.tsx'

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

/** What is wrong with fields, by name. */
type Problems<Values> = { [Name in keyof Values]?: string | null }

interface FormOptions<Values, Result> extends Omit<Change<Values, Result>, 'send'> {
  /** The values of the fields, named as the API names them. */
  initial: Values
  check?: (values: Values) => Problems<Values>
  send: (values: Values) => Promise<Result> | undefined
}

/** What a Form needs of its state. */
export interface FormState {
  error: Error | null
  /** Whether the error is shown beside a field, and not above the form. */
  isFieldError: boolean
  isPending: boolean
  submit: () => void
}

/** The state of a form: its values, what is wrong with them after the first submit, and the request it sends. */
export function useForm<Values extends Record<string, string>, Result = unknown>(
  options: FormOptions<Values, Result>,
) {
  const { initial, check, send, ...change } = options
  const [values, setValues] = useState(initial)
  const [isChecked, setIsChecked] = useState(false)
  const { mutate, error, isPending } = useChange({
    ...change,
    send: async (sent: Values) => (await send(sent)) as Result,
  })
  const problems: Problems<Values> = check?.(values) ?? {}
  const param = error instanceof RequestFailure ? error.param : null
  return {
    values,
    error,
    isPending,
    isFieldError: param !== null && param in values,
    /** What a field shows and does. */
    field: (name: keyof Values & string) => ({
      value: values[name] ?? '',
      onChange: (text: string) => setValues((before) => ({ ...before, [name]: text })),
      error: (isChecked && problems[name]) || (param === name && error ? error.message : null),
    }),
    submit: () => {
      setIsChecked(true)
      if (Object.values(problems).every((problem) => !problem)) mutate(values)
    },
    reset: () => {
      setValues(initial)
      setIsChecked(false)
    },
  }
}
