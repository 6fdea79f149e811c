import { useId, useState } from 'react'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** How the themes are called on screen. */
export const THEME_NAMES: Record<Theme, string> = { system: 'As the system', light: 'Light', dark: 'Dark' }

const STORED_AS = 'switchyard-theme'

/** The theme chosen in this browser; `system` while none is, or where storage is refused. */
export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORED_AS)
    return THEMES.find((theme) => theme === stored) ?? 'system'
  } catch {
    return 'system'
  }
}

/** Shows a theme at once. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** Shows a theme and keeps it for the next visit. */
export function chooseTheme(theme: Theme): void {
  applyTheme(theme)
  try {
    localStorage.setItem(STORED_AS, theme)
  } catch {
    // Storage may be refused; the choice then lasts as long as the page.
  }
}

/** Chooses the theme: light, dark, or the system's. */
export function ThemeMenu() {
  const id = useId()
  const [theme, setTheme] = useState<Theme>(storedTheme)
  const choose = (chosen: Theme) => {
    setTheme(chosen)
    chooseTheme(chosen)
  }
  return (
    <div className="theme-menu line">
      <label htmlFor={id}>Theme</label>
      <select
        id={id}
        className="input"
        value={theme}
        onChange={(event) => choose(event.target.value as Theme)}
      >
        {THEMES.map((name) => (
          <option key={name} value={name}>
            {THEME_NAMES[name]}
          </option>
        ))}
      </select>
    </div>
  )
}
