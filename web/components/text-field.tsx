import type { HTMLInputAutoCompleteAttribute, HTMLInputTypeAttribute, ReactNode } from 'react'
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
  autoComplete?: HTMLInputAutoCompleteAttribute
  inputMode?: 'text' | 'decimal' | 'numeric' | 'email' | 'url'
  required?: boolean
  disabled?: boolean
  /** More than one makes it an area of so many lines. */
  rows?: number
  className?: string
}

/** One labelled line or area of text, with its hint and its error. */
export function TextField(props: TextFieldProps) {
  const { label, value, onChange, hint, error, rows = 1, placeholder, className = '' } = props
  return (
    <AriaTextField
      className={`field ${className}`}
      value={value}
      onChange={onChange}
      isInvalid={Boolean(error)}
      isRequired={props.required}
      isDisabled={props.disabled}
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
        <Input className="input" placeholder={placeholder} />
      )}
      {hint && (
        <Text slot="description" className="field-hint">
          {hint}
        </Text>
      )}
      <FieldError className="field-error">{error}</FieldError>
    </AriaTextField>
  )
}
