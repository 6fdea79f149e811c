import { Ellipsis } from 'lucide-react'
import { type ReactNode, Suspense, useRef, useState } from 'react'
import { lazyPart } from '../../api/lazy-part.ts'

const ActionMenu = lazyPart(async () => (await import('./action-menu.tsx')).ActionMenu)

export interface RowAction {
  name: string
  /** What it does at once, or the dialog that it opens, given what closes it. */
  run?: () => void
  dialog?: (close: () => void) => ReactNode
  /** Why it cannot be done, shown behind its name. */
  why?: string | undefined
}

/** The actions of a row, behind one button of three dots. `about`: what they act on. Nothing without any. */
export function RowMenu({ about, actions }: { about: string; actions: ReadonlyArray<RowAction | false> }) {
  const [isOpen, setIsOpen] = useState(false)
  const [shown, setShown] = useState<RowAction['dialog'] | null>(null)
  const button = useRef<HTMLButtonElement>(null)
  const offered = actions.filter((action) => action !== false)
  // The chosen item, which had the focus, is gone.
  const close = () => {
    setShown(null)
    window.setTimeout(() => button.current?.focus())
  }
  if (offered.length === 0) return null
  return (
    <>
      <button
        ref={button}
        type="button"
        className="button button-quiet button-icon button-small"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(true)}
      >
        <Ellipsis size={16} aria-hidden="true" />
        <span className="sr-only">Actions for {about}</span>
      </button>
      {isOpen && (
        <Suspense fallback={null}>
          <ActionMenu
            isOpen
            triggerRef={button}
            onOpenChange={setIsOpen}
            about={about}
            actions={offered}
            onChoose={({ run, dialog }) => (dialog ? setShown(() => dialog) : run?.())}
          />
        </Suspense>
      )}
      {shown?.(close)}
    </>
  )
}
