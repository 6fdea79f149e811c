/** A page of the navigation of the frame that is open. */
export interface FramePage {
  to: string
  name: string
  /** Opens it, pressed after `g`. */
  letter?: string
}

export interface PaletteProps {
  framePages: readonly FramePage[]
  /** Shows the shortcuts in its place. */
  onShortcuts: () => void
  onClose: () => void
}

export const isApple = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform)

/** The keys of the search, as a keyboard has them. */
export const searchKeys = (): string => (isApple() ? '⌘K' : 'Ctrl K')

/** Where `off` is kept: what is typed by itself then does nothing. */
export const LETTERS_STORED_AS = 'shuntyard-shortcuts'
