import { useState } from 'react'
import { Form } from './form.tsx'
import { TextField } from './text-field.tsx'

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
      <button type="submit" className="button button-primary">
        {button}
      </button>
    </Form>
  )
}
