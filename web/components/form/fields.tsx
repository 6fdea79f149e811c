import { type ComponentProps, type ReactNode, useId } from 'react'

/** Ties a field to its label, its hint and its error, for screen readers too. */
function Field(props: {
  label: string
  hint?: ReactNode
  error?: string | null
  className?: string | undefined
  children: (
    attributes: ComponentProps<'input'> & ComponentProps<'textarea'> & ComponentProps<'select'>,
  ) => ReactNode
}) {
  const { label, hint, error, className = '', children } = props
  const id = useId()
  // An error takes the place of the hint, which says the same in other words.
  const describedBy = error ? `${id}-error` : hint ? `${id}-hint` : ''
  return (
    <div className={`field stack content-start gap-1 ${className}`}>
      <label className="text-sm font-medium" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        className: 'input',
        'aria-describedby': describedBy || undefined,
        'aria-invalid': error ? true : undefined,
      })}
      {hint && !error && (
        <span className="text-sm text-muted" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {error && (
        <span className="text-sm text-bad" id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  )
}

interface TextFieldProps extends Omit<ComponentProps<'input'>, 'onChange'> {
  label: string
  value: string
  onChange: (value: string) => void
  hint?: ReactNode
  error?: string | null
  /** More than one makes it an area of so many lines. */
  rows?: number
  /** Values that the browser offers while one types. */
  suggestions?: ReadonlyArray<{ value: string; name?: string }>
}

/** One labelled line or area of text. Errors are shown beside it, never as the browser's own bubbles. */
export function TextField(props: TextFieldProps) {
  const { label, onChange, hint, error, rows = 1, suggestions, className, required, ...input } = props
  const list = useId()
  return (
    <Field label={label} hint={hint} error={error} className={className}>
      {(attributes) => (
        <>
          {rows > 1 ? (
            <textarea
              {...attributes}
              rows={rows}
              value={input.value}
              placeholder={input.placeholder}
              aria-required={required}
              onChange={(event) => onChange(event.target.value)}
            />
          ) : (
            <input
              autoComplete="off"
              type="text"
              {...attributes}
              {...input}
              list={suggestions && list}
              aria-required={required}
              onChange={(event) => onChange(event.target.value)}
            />
          )}
          {suggestions && <datalist id={list}>{suggestions.map(toOption)}</datalist>}
        </>
      )}
    </Field>
  )
}

export interface SelectOption {
  value: string
  name: string
}

const toOption = ({ value, name }: { value: string; name?: string }) => (
  <option key={value} value={value}>
    {name}
  </option>
)

/** A choice of one. The browser's own menu: it is what phones, keyboards and screen readers know best. */
export function SelectField(props: {
  label: string
  value: string
  onChange: (value: string) => void
  options: readonly SelectOption[]
  hint?: ReactNode
  error?: string | null
  disabled?: boolean
}) {
  const { value, onChange, options, disabled, ...field } = props
  return (
    <Field {...field}>
      {(attributes) => (
        <select
          {...attributes}
          value={value}
          disabled={disabled}
          onChange={(event) => onChange(event.target.value)}
        >
          {options.map(toOption)}
        </select>
      )}
    </Field>
  )
}

/** A choice of one among a few, all in sight: a group of radio buttons. */
export function ChoiceField(props: {
  label: string
  value: string
  onChange: (value: string) => void
  options: readonly SelectOption[]
}) {
  const id = useId()
  return (
    <fieldset className="field stack content-start gap-1">
      <legend className="mb-2 text-sm font-medium">{props.label}</legend>
      <div className="row gap-2">
        {props.options.map(({ value, name }) => (
          <label key={value} className="relative inline-flex">
            <input
              className="absolute inset-0 cursor-pointer opacity-0"
              type="radio"
              name={id}
              value={value}
              checked={props.value === value}
              onChange={() => props.onChange(value)}
            />
            <span className="choice">{name}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

/** Yes or no. */
export function CheckField(props: {
  label: ReactNode
  checked: boolean
  onChange: (checked: boolean) => void
  hint?: ReactNode
}) {
  const id = useId()
  return (
    <div className="flex min-h-7 items-start gap-2 py-0.5 [&_input]:mt-[3px]">
      <input
        id={id}
        type="checkbox"
        className="size-4.5 flex-none accent-accent-fill"
        checked={props.checked}
        aria-describedby={props.hint ? `${id}-hint` : undefined}
        onChange={(event) => props.onChange(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{props.label}</label>
        {props.hint && (
          <div className="text-sm text-muted" id={`${id}-hint`}>
            {props.hint}
          </div>
        )}
      </div>
    </div>
  )
}
