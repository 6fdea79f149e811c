import { useId } from 'react'
import type { SelectOption } from './select-field.tsx'

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
      <div className="choices">
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
