import { type HTMLInputTypeAttribute, type ReactNode, useId } from 'react'
import { TextField as AriaTextField, FieldError, Input, Label, Text, TextArea } from 'react-aria-components'

interface TextFieldProps {
  label: string
  value: string
  onChange: (value: string) => void
  hint?: ReactNode
  /** What is wrong with the value; tied to the input and read with it. */
  error?: string | null
  type?: HTMLInputTypeAttribute
  name?: string
  placeholder?: string
  autoComplete?: string
  inputMode?: 'text' | 'decimal' | 'numeric' | 'email' | 'url'
  required?: boolean
  /** More than one makes it an area of so many lines. */
  rows?: number
  /** Values that the browser offers while one types. */
  suggestions?: ReadonlyArray<{ value: string; name?: string }>
  className?: string
}

/** One labelled line or area of text, with its hint and its error. */
export function TextField(props: TextFieldProps) {
  const { label, value, onChange, hint, error, rows = 1, placeholder, suggestions, className = '' } = props
  const list = useId()
  return (
    <AriaTextField
      className={`field ${className}`}
      value={value}
      onChange={onChange}
      isInvalid={Boolean(error)}
      isRequired={props.required}
      name={props.name}
      autoComplete={props.autoComplete ?? 'off'}
      inputMode={props.inputMode}
      type={props.type ?? 'text'}
      // Errors are the gateway's or the page's own, shown beside the field; not the browser's bubbles.
      validationBehavior="aria"
    >
      <Label className="field-label">{label}</Label>
      {rows > 1 ? (
        <TextArea className="input" rows={rows} placeholder={placeholder} />
      ) : (
        <Input className="input" placeholder={placeholder} list={suggestions && list} />
      )}
      {suggestions && (
        <datalist id={list}>
          {suggestions.map((suggestion) => (
            <option key={suggestion.value} value={suggestion.value}>
              {suggestion.name}
            </option>
          ))}
        </datalist>
      )}
      {hint && (
        <Text slot="description" className="small muted">
          {hint}
        </Text>
      )}
      <FieldError className="field-error">{error}</FieldError>
    </AriaTextField>
  )
}
