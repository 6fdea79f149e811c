import { useState } from 'react'
import { SelectField } from '../components/form/fields.tsx'
import { readStored, writeStored } from '../lib/storage.ts'

/** The themes, with their names on screen. */
export const THEMES = [
  { value: 'system', name: 'System' },
  { value: 'light', name: 'Light' },
  { value: 'dark', name: 'Dark' },
]

const STORED_AS = 'shuntyard-theme'

/** The theme chosen in this browser; `system` while none is. */
const storedTheme = (): string => {
  const stored = readStored(STORED_AS)
  return THEMES.find(({ value }) => value === stored)?.value ?? 'system'
}

/** Shows a theme at once; without one, that of this browser. */
export function applyTheme(theme = storedTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** The theme, and a function that shows another and keeps it for the next visit. */
export function useTheme() {
  const [theme, setTheme] = useState(storedTheme)
  const choose = (chosen: string) => {
    setTheme(chosen)
    applyTheme(chosen)
    writeStored(STORED_AS, chosen)
  }
  return [theme, choose] as const
}

/** Chooses the theme: light, dark, or the system's. */
export function ThemeMenu() {
  const [theme, choose] = useTheme()
  return (
    <div className="toolbar">
      <SelectField label="Theme" value={theme} options={THEMES} onChange={choose} />
    </div>
  )
}
