import { X } from 'lucide-react'
import { Button } from './button.tsx'
import { TextField } from './fields.tsx'

/** The names in the value of a NamesField, the one that is being typed among them. */
export const namesIn = (value: string): string[] => [
  ...new Set(
    value
      .split('\n')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  ),
]

/** The value of a NamesField with some names. */
export const valueOfNames = (names: readonly string[]): string => names.map((name) => `${name}\n`).join('')

/**
 * Several names, added one by one with Enter and removed again. Its value has one a line, so that forms can hold it; what is
 * being typed is the last line, and counts when the form is sent.
 */
export function NamesField(props: {
  label: string
  value: string
  onChange: (value: string) => void
  hint?: string
  error?: string | null
  placeholder?: string
  suggestions: ReadonlyArray<{ value: string; name?: string }>
}) {
  const { value, onChange, ...field } = props
  const start = value.lastIndexOf('\n') + 1
  const names = namesIn(value.slice(0, start))
  const text = value.slice(start)
  return (
    <div className="stack gap-2">
      <TextField
        {...field}
        value={text}
        spellCheck={false}
        onChange={(typed) => onChange(valueOfNames(names) + typed)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || text.trim() === '') return
          event.preventDefault()
          onChange(valueOfNames(namesIn(value)))
        }}
      />
      {names.length > 0 && (
        <ul className="row gap-2" aria-label={field.label}>
          {names.map((name) => (
            <li key={name} className="badge max-w-full bg-sunken text-soft">
              <span className="wrap-anywhere">{name}</span>
              <Button
                icon={X}
                size="small"
                about={`Remove ${name}`}
                onClick={() => onChange(valueOfNames(names.filter((other) => other !== name)) + text)}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
