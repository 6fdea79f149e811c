import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { RequestFailure } from '../../api/request.ts'
import { type Change, useChange } from '../../api/use-change.ts'
import { readDraft, useDraft } from '../../lib/form-drafts.ts'
import { ErrorNote } from '../feedback/messages.tsx'
import { Button } from './button.tsx'
import { TextField } from './fields.tsx'

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
  size?: 'large'
}) {
  const { form, pending, children, ...look } = props
  return (
    <Button {...look} disabled={form.isPending}>
      {form.isPending ? pending : children}
    </Button>
  )
}

/** What a field shows and does, by its name. */
export type FieldOf<Values> = (name: keyof Values & string) => {
  value: string
  onChange: (text: string) => void
  error: string | null
}

/** What is wrong with fields, by name. */
type Problems<Values> = { [Name in keyof Values]?: string | null }

export interface FormOptions<Values, Result> extends Omit<Change<Values, Result>, 'send'> {
  /** The values of the fields, named as the API names them. */
  initial: Values
  /** Of a form that shares its page with others of the same fields. */
  name?: string
  check?: (values: Values) => Problems<Values>
  send: (values: Values) => Promise<Result> | undefined
}

/** What a Form needs of its state. */
interface FormState {
  error: Error | null
  /** Whether the error is shown beside a field, and not above the form. */
  isFieldError: boolean
  isPending: boolean
  submit: () => void
}

/**
 * The state of a form: its values, what is wrong with them after the first submit, and the request it sends. What was typed when
 * the session ended is there again.
 */
export function useForm<Values extends Record<string, string>, Result = unknown>(
  options: FormOptions<Values, Result>,
) {
  const { initial, name = '', check, send, ...change } = options
  const [path] = useState(() => window.location.pathname)
  const draftName = [path, name, ...Object.keys(initial)].join(' ')
  const [values, setValues] = useState(() => ({ ...initial, ...readDraft(draftName) }))
  useDraft(
    draftName,
    Object.fromEntries(Object.entries(values).filter(([field, value]) => value !== initial[field])),
  )
  const [isChecked, setIsChecked] = useState(false)
  const { mutate, error, isPending } = useChange({
    ...change,
    send: async (sent: Values) => (await send(sent)) as Result,
  })
  const problems: Problems<Values> = check?.(values) ?? {}
  const param = error instanceof RequestFailure ? error.param : null
  const field: FieldOf<Values> = (name) => ({
    value: values[name] ?? '',
    onChange: (text) => setValues((before) => ({ ...before, [name]: text })),
    error: (isChecked && problems[name]) || (param === name && error ? error.message : null),
  })
  return {
    values,
    error,
    isPending,
    isFieldError: param !== null && param in values,
    field,
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

/** A line to search by, and its button. */
export function SearchForm(props: {
  label: string
  initial?: string | undefined
  button?: string
  placeholder?: string
  suggestions?: ReadonlyArray<{ value: string }>
  onSearch: (text: string) => void
}) {
  const { label, initial = '', button = 'Search', placeholder, suggestions, onSearch } = props
  const [text, setText] = useState(initial)
  const form = {
    error: null,
    isFieldError: false,
    isPending: false,
    submit: () => onSearch(text.trim()),
  }
  return (
    <Form className="toolbar" form={form}>
      <TextField
        className="field-wide"
        label={label}
        type={suggestions ? 'text' : 'search'}
        value={text}
        onChange={setText}
        placeholder={placeholder}
        suggestions={suggestions}
      />
      <Button kind="primary">{button}</Button>
    </Form>
  )
}
