import { useEffect, useId, useState } from 'react'

const WAIT_MS = 150

/** The search box. What is typed shows at once, and reaches the address when the typing pauses. */
export function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const id = useId()
  const [typed, setTyped] = useState(value)
  // The address may change by itself: the browser's way back, or "clear".
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed === value) return
    const timer = window.setTimeout(() => onChange(typed), WAIT_MS)
    return () => window.clearTimeout(timer)
  }, [typed, value, onChange])
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        Search models
      </label>
      <input
        id={id}
        type="search"
        className="input"
        placeholder="Name, maker or id"
        value={typed}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
      />
    </div>
  )
}
