import { type ReactNode, useId } from 'react'

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
          <span className="check-hint" id={`${id}-hint`}>
            {props.hint}
          </span>
        )}
      </div>
    </div>
  )
}
