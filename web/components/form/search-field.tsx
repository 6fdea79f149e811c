import { useEffect, useRef, useState } from 'react'
import { laterReports } from '../../lib/later-reports.ts'
import { TextField } from './fields.tsx'

const WAIT_MS = 200

/**
 * The text of a search field. Typed text is shown immediately and reported, trimmed, when typing pauses. A value that
 * changes otherwise, for example by the browser's Back button, replaces it.
 */
export function useSettledText(value: string, onSettled: (text: string) => void) {
  const [typed, setTyped] = useState(value)
  const reported = useRef<readonly string[]>([])
  useEffect(() => {
    const later = laterReports(reported.current, value)
    reported.current = later ?? []
    if (!later) setTyped(value)
  }, [value])
  useEffect(() => {
    const text = typed.trim()
    if (text === value) return
    const timer = window.setTimeout(() => {
      reported.current = [...reported.current, text]
      onSettled(text)
    }, WAIT_MS)
    return () => window.clearTimeout(timer)
  }, [typed, value, onSettled])
  return [typed, setTyped] as const
}

/** Searches while one types. `onSearch` gets the text when typing pauses; undefined: there is none. */
export function SearchField(props: {
  label?: string
  placeholder: string
  value: string | undefined
  onSearch: (text: string | undefined) => void
}) {
  const { label = 'Search', placeholder, value = '', onSearch } = props
  const [typed, setTyped] = useSettledText(value, (text) => onSearch(text || undefined))
  return (
    <TextField
      {...{ label, placeholder }}
      className="field-wide"
      type="search"
      value={typed}
      onChange={setTyped}
      spellCheck={false}
    />
  )
}
