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
        <span className="field-hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  )
}
