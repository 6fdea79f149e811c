import { useRouter } from '@tanstack/react-router'
import {
  type ComponentType,
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { loadPart, messageOf } from '../api/request.ts'
import { readStored } from '../lib/storage.ts'
import { type FramePage, isApple, LETTERS_STORED_AS, type PaletteProps, searchKeys } from './shortcuts.ts'

interface Palette {
  open: () => void
  setPages: (pages: readonly FramePage[]) => void
}

const PaletteContext = createContext<Palette>({ open: () => undefined, setPages: () => undefined })

/** A letter counts this long after `g`. */
const LETTER_MS = 1_500
const TYPING = 'input, textarea, select, [contenteditable], [role="menu"], [role="listbox"]'

/**
 * Around every page: Ctrl+K (⌘K) or a SearchButton opens the search, `?` the sheet of shortcuts, and `g` with the letter of
 * a page that page. Neither dialog is loaded before.
 */
export function CommandPalette({ children }: { children: ReactNode }) {
  const [Dialog, setDialog] = useState<ComponentType<PaletteProps> | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const framePages = useRef<readonly FramePage[]>([])
  const router = useRouter()
  const { palette, openSheet } = useMemo(() => {
    const show = (part: () => Promise<ComponentType<PaletteProps>>) => {
      setProblem(null)
      loadPart(part).then(
        (loaded) => setDialog(() => loaded),
        (error) => setProblem(messageOf(error)),
      )
    }
    const palette: Palette = {
      open: () => show(async () => (await import('./palette-dialog.tsx')).PaletteDialog),
      setPages: (pages) => {
        framePages.current = pages
      },
    }
    return {
      palette,
      openSheet: () => show(async () => (await import('./shortcut-sheet.tsx')).ShortcutSheet),
    }
  }, [])
  useEffect(() => {
    let leadAt = Number.NEGATIVE_INFINITY
    const onKey = (event: KeyboardEvent) => {
      const { key, altKey, shiftKey, timeStamp } = event
      const isHeld = isApple() ? event.metaKey : event.ctrlKey
      const isSearch = isHeld && !shiftKey && !altKey && key.toLowerCase() === 'k'
      if (isSearch) event.preventDefault()
      // A dialog that is open keeps the focus.
      if (document.querySelector('[role="dialog"], [role="alertdialog"]')) return
      if (isSearch) return palette.open()
      const isTyped = event.ctrlKey || event.metaKey || altKey || (event.target as Element).closest?.(TYPING)
      if (isTyped || readStored(LETTERS_STORED_AS) === 'off') return
      const page = framePages.current.find(({ letter }) => letter === key && timeStamp - leadAt < LETTER_MS)
      leadAt = key === 'g' ? timeStamp : Number.NEGATIVE_INFINITY
      if (key === '?') openSheet()
      else if (page) void router.navigate({ href: page.to })
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [palette, openSheet, router])
  return (
    <PaletteContext value={palette}>
      {children}
      {problem && (
        // A toast would need the component library, which the landing page does without.
        <p className="toast fixed bottom-4 left-4 z-40 pr-4" role="alert">
          {problem}
        </p>
      )}
      {Dialog && (
        <Dialog framePages={framePages.current} onShortcuts={openSheet} onClose={() => setDialog(null)} />
      )}
    </PaletteContext>
  )
}

/** Has the search find the pages of a navigation while it is on screen. */
export function useFramePages(pages: readonly FramePage[]): void {
  const { setPages } = useContext(PaletteContext)
  useEffect(() => {
    setPages(pages)
    return () => setPages([])
  }, [pages, setPages])
}

/** A page beside the sidebar needs none: the sidebar has it. */
const WIDE_BUTTON =
  'flex min-h-9 w-full cursor-pointer items-center gap-2 rounded-md border border-edge bg-page px-3 text-md text-soft hover:border-line-strong hover:text-ink [.side-content_&]:hidden'

/** Opens the search. `icon`: without its text. */
export function SearchButton({ icon = false }: { icon?: boolean }) {
  const { open } = useContext(PaletteContext)
  return (
    <button
      type="button"
      className={icon ? 'button button-icon button-quiet' : WIDE_BUTTON}
      aria-keyshortcuts={isApple() ? 'Meta+K' : 'Control+K'}
      onClick={open}
    >
      <SearchIcon />
      <span className={icon ? 'sr-only' : ''}>Search</span>
      {!icon && (
        <span className="ml-auto text-xs text-muted max-lg:hidden" aria-hidden="true">
          {searchKeys()}
        </span>
      )}
    </button>
  )
}

/** Drawn here, since the landing page need not load the icons of others. */
const SearchIcon = () => (
  <svg
    width={18}
    height={18}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth={2}
    strokeLinecap="round"
    aria-hidden="true"
  >
    <circle cx={11} cy={11} r={8} />
    <path d="m21 21-4.3-4.3" />
  </svg>
)
