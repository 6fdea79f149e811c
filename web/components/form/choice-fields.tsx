import { type ReactNode, useId } from 'react'

export interface SelectOption {
  value: string
  name: string
}

/** A choice of one. The browser's own menu: it is what phones, keyboards and screen readers know best. */
export function SelectField(props: {
  label: string
  value: string
  onChange: (value: string) => void
  options: readonly SelectOption[]
  hint?: ReactNode
  disabled?: boolean
  className?: string
}) {
  const { label, value, onChange, options, hint, disabled, className = '' } = props
  const id = useId()
  return (
    <div className={`field ${className}`}>
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className="input"
        value={value}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.name}
          </option>
        ))}
      </select>
      {hint && (
        <span className="small muted" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  )
}

/** A choice of one among a few, all in sight: a group of radio buttons. */
export function ChoiceField(props: {
  label: string
  value: string
  onChange: (value: string) => void
  options: readonly SelectOption[]
}) {
  const name = useId()
  return (
    <fieldset className="field">
      <legend className="field-label">{props.label}</legend>
      <div className="button-row">
        {props.options.map((option) => (
          <label key={option.value} className="choice">
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={props.value === option.value}
              onChange={() => props.onChange(option.value)}
            />
            <span>{option.name}</span>
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
    <div className="check">
      <input
        id={id}
        type="checkbox"
        checked={props.checked}
        aria-describedby={props.hint ? `${id}-hint` : undefined}
        onChange={(event) => props.onChange(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{props.label}</label>
        {props.hint && (
          <div className="small muted" id={`${id}-hint`}>
            {props.hint}
          </div>
        )}
      </div>
    </div>
  )
}
