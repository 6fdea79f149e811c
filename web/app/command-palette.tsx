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

/** A page of the navigation of the frame that is open. */
export interface FramePage {
  to: string
  name: string
}

interface Palette {
  open: () => void
  setPages: (pages: readonly FramePage[]) => void
}

const PaletteContext = createContext<Palette>({ open: () => undefined, setPages: () => undefined })

interface DialogProps {
  framePages: readonly FramePage[]
  onClose: () => void
}

const isApple = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform)

/**
 * Around every page: Ctrl+K (⌘K) or a SearchButton opens the search over pages, docs and models, which is not loaded
 * before.
 */
export function CommandPalette({ children }: { children: ReactNode }) {
  const [Dialog, setDialog] = useState<ComponentType<DialogProps> | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const framePages = useRef<readonly FramePage[]>([])
  const palette = useMemo<Palette>(
    () => ({
      open: () => {
        setProblem(null)
        loadPart(() => import('./palette-dialog.tsx')).then(
          ({ PaletteDialog }) => setDialog(() => PaletteDialog),
          (error) => setProblem(messageOf(error)),
        )
      },
      setPages: (pages) => {
        framePages.current = pages
      },
    }),
    [],
  )
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isHeld = isApple() ? event.metaKey : event.ctrlKey
      if (!isHeld || event.shiftKey || event.altKey || event.key.toLowerCase() !== 'k') return
      event.preventDefault()
      // A dialog that is open keeps the focus.
      if (!document.querySelector('[role="dialog"], [role="alertdialog"]')) palette.open()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [palette])
  return (
    <PaletteContext value={palette}>
      {children}
      {problem && (
        // A toast would need the component library, which the landing page does without.
        <p className="toast fixed bottom-4 left-4 z-40 pr-4" role="alert">
          {problem}
        </p>
      )}
      {Dialog && <Dialog framePages={framePages.current} onClose={() => setDialog(null)} />}
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

/** Opens the search. `icon`: without its text. */
export function SearchButton({ icon = false }: { icon?: boolean }) {
  const { open } = useContext(PaletteContext)
  return (
    <button
      type="button"
      className={icon ? 'button button-icon button-quiet' : 'search-button'}
      aria-keyshortcuts={isApple() ? 'Meta+K' : 'Control+K'}
      onClick={open}
    >
      <SearchIcon />
      <span className={icon ? 'sr-only' : ''}>Search</span>
      {!icon && (
        <span className="search-keys" aria-hidden="true">
          {isApple() ? '⌘K' : 'Ctrl K'}
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
