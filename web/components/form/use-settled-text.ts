import { useEffect, useState } from 'react'

const WAIT_MS = 200

/**
 * The text of a search field. Typed text is shown immediately and reported, trimmed, when typing pauses. A value that
 * changes otherwise, for example by the browser's Back button, replaces it.
 */
export function useSettledText(value: string, onSettled: (text: string) => void) {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped((before) => (before.trim() === value ? before : value)), [value])
  useEffect(() => {
    const text = typed.trim()
    if (text === value) return
    const timer = window.setTimeout(() => onSettled(text), WAIT_MS)
    return () => window.clearTimeout(timer)
  }, [typed, value, onSettled])
  return [typed, setTyped] as const
}
