import { type ComponentProps, type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { RequestFailure } from '../../api/request.ts'
import { type Change, useChange } from '../../api/use-change.ts'
import { readDraft, useDraft } from '../../lib/form-drafts.ts'
import { ErrorNote } from '../feedback/messages.tsx'
import { Button } from './button.tsx'
import { SelectField, type SelectOption, TextField } from './fields.tsx'

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
  pending?: string | undefined
  children?: ReactNode
  kind?: 'primary' | 'danger' | undefined
  size?: 'large' | undefined
  disabled?: boolean
}) {
  const { form, pending = 'Saving …', children = 'Save', disabled = false, ...look } = props
  return (
    <Button {...look} disabled={disabled || form.isPending}>
      {form.isPending ? pending : children}
    </Button>
  )
}

/** A field as it is declared: a line or area of text, or a choice. What else it has are properties of TextField. */
export interface FieldSpec
  extends Omit<ComponentProps<typeof TextField>, 'value' | 'onChange' | 'error' | 'required'> {
  /** Its value at first; empty without. */
  initial?: string
  /** Marks it as required. A text is the problem of an empty field, which `check` then does not see. */
  required?: string | true
  /** What is wrong with a value; null: nothing. */
  check?: (text: string, values: Readonly<Record<string, string>>) => string | null
  /** The values to choose from. */
  options?: readonly SelectOption[]
  /** The value counts as typed, with spaces around it: a password, a list. */
  exact?: boolean
}

/** What an input of a field shows and does. */
export interface BoundField {
  value: string
  onChange: (text: string) => void
  error: string | null
}

/** The input of a declared field. */
export function FieldInput({ spec, bound }: { spec: FieldSpec; bound: BoundField }) {
  const { initial: _, check: __, exact: ___, required, options, ...shown } = spec
  const { label, hint, disabled = false } = shown
  return options ? (
    <SelectField {...{ label, hint, disabled, options }} {...bound} />
  ) : (
    <TextField {...shown} {...bound} required={required !== undefined} />
  )
}

/** The fields of a form on screen, for a layout of its own. */
export interface FormFields<Name extends string> {
  /** The declared field; `more` has what depends on other values. */
  input: (name: Name, more?: Partial<FieldSpec>) => ReactNode
  /** For another input than that of `input`. */
  field: (name: Name) => BoundField
}

export interface FormOptions<Name extends string, Result>
  extends Omit<Change<Record<Name, string>, Result>, 'send'> {
  /** By the names that the API has for them, in their order on screen. */
  fields: Readonly<Record<Name, FieldSpec>>
  /** Of a form that shares its page with others of the same fields. */
  name?: string
  /** Gets the values without spaces around them. */
  send: (values: Record<Name, string>) => Promise<Result> | undefined
}

/** What a Form needs of its state. */
interface FormState {
  error: Error | null
  /** Whether the error is shown beside a field, and not above the form. */
  isFieldError: boolean
  isPending: boolean
  submit: () => void
}

const mapped = <Name extends string, From, To>(
  of: Readonly<Record<Name, From>>,
  to: (from: From, name: Name) => To,
) =>
  Object.fromEntries(
    Object.entries<From>(of).map(([name, from]) => [name, to(from, name as Name)]),
  ) as Record<Name, To>

/**
 * The state of a form: its values, what is wrong with them after the first submit, and the request it sends. What was typed when
 * the session ended is there again.
 */
export function useForm<Name extends string, Result = unknown>(options: FormOptions<Name, Result>) {
  const { fields, name = '', send, ...change } = options
  const initial = mapped(fields, (spec) => spec.initial ?? '')
  const [path] = useState(() => window.location.pathname)
  const draftName = [path, name, ...Object.keys(fields)].join(' ')
  const [values, setValues] = useState(() => ({ ...initial, ...readDraft(draftName) }))
  useDraft(
    draftName,
    Object.fromEntries(
      Object.entries<string>(values).filter(([field, value]) => value !== initial[field as Name]),
    ),
  )
  const [isChecked, setIsChecked] = useState(false)
  const { mutate, error, isPending } = useChange({
    ...change,
    send: async (sent: Record<Name, string>) => (await send(sent)) as Result,
  })
  const sent = mapped(fields, ({ exact }, name) => (exact ? values[name] : values[name].trim()))
  const problems = mapped(fields, ({ required, check }, name) =>
    typeof required === 'string' && sent[name] === '' ? required : (check?.(sent[name], sent) ?? null),
  )
  const param = error instanceof RequestFailure ? error.param : null
  const field = (name: Name): BoundField => ({
    value: values[name],
    onChange: (text) => setValues((before) => ({ ...before, [name]: text })),
    error: (isChecked && problems[name]) || (param === name && error ? error.message : null),
  })
  const input = (name: Name, more: Partial<FieldSpec> = {}) => (
    <FieldInput key={name} spec={{ ...fields[name], ...more }} bound={field(name)} />
  )
  return {
    values,
    error,
    isPending,
    isFieldError: param !== null && param in values,
    field,
    input,
    submit: () => {
      setIsChecked(true)
      if (Object.values(problems).every((problem) => problem === null)) mutate(sent)
    },
    reset: () => {
      setValues(initial)
      setIsChecked(false)
    },
  }
}

/** What stands in a form: `children` above all of its fields in order, or a layout of its own. */
export interface FormContent<Name extends string> {
  children?: ReactNode | ((fields: FormFields<Name>) => ReactNode)
}

/** The content of a form. */
export const formContent = <Name extends string>(
  form: FormFields<Name>,
  fields: Readonly<Record<Name, FieldSpec>>,
  children: FormContent<Name>['children'],
): ReactNode =>
  typeof children === 'function' ? (
    children(form)
  ) : (
    <>
      {children}
      {(Object.keys(fields) as Name[]).map((name) => form.input(name))}
    </>
  )

/** A form on a page: its fields, and the button that sends it. A large button has the width of the form. */
export function PageForm<Name extends string, Result>(
  props: FormOptions<Name, Result> &
    FormContent<Name> & {
      submit?: string
      pending?: string
      kind?: 'primary' | undefined
      size?: 'large'
    },
) {
  const { children, submit, pending, kind, size, ...options } = props
  const form = useForm<Name, Result>(options)
  const button = (
    <Submit form={form} {...{ kind, size, pending }}>
      {submit}
    </Submit>
  )
  return (
    <Form form={form}>
      {formContent(form, options.fields, children)}
      {size === 'large' ? button : <div>{button}</div>}
    </Form>
  )
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
      <Button>{button}</Button>
    </Form>
  )
}
