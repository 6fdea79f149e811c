/** What a browser keeps for this site. It may refuse to, or be full: what was chosen then lasts as long as the page. */

/** A text that is kept in this browser, or with `sessionStorage` in this tab; null: none is. */
export function readStored(name: string, storage: 'localStorage' | 'sessionStorage' = 'localStorage') {
  try {
    return globalThis[storage].getItem(name)
  } catch {
    return null
  }
}

/** Keeps a text; null removes it. */
export function writeStored(
  name: string,
  text: string | null,
  storage: 'localStorage' | 'sessionStorage' = 'localStorage',
): void {
  try {
    if (text === null) globalThis[storage].removeItem(name)
    else globalThis[storage].setItem(name, text)
  } catch {
    // See above.
  }
}
