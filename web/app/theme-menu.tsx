import { useId, useState } from 'react'
import { chooseTheme, storedTheme, THEME_NAMES, THEMES, type Theme } from './theme.ts'

/** Chooses the theme: light, dark, or the system's. */
export function ThemeMenu() {
  const id = useId()
  const [theme, setTheme] = useState<Theme>(storedTheme)
  const choose = (chosen: Theme) => {
    setTheme(chosen)
    chooseTheme(chosen)
  }
  return (
    <div className="theme-menu">
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
