import { ChevronsUpDown } from 'lucide-react'
import { type ReactNode, type RefObject, Suspense, useRef, useState } from 'react'

/** What a Popover needs that a PopoverButton opens. */
export interface OpenPopover {
  isOpen: true
  triggerRef: RefObject<HTMLButtonElement | null>
  onOpenChange: (isOpen: boolean) => void
}

/** A button with `children` that opens a popover, which may be loaded when it is first opened. */
export function PopoverButton(props: {
  popup: 'menu' | 'dialog'
  className?: string
  children: ReactNode
  popover: (open: OpenPopover) => ReactNode
}) {
  const { popup, className = '', children, popover } = props
  const [isOpen, setIsOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  return (
    <>
      <button
        ref={button}
        type="button"
        className={`switcher ${className}`}
        aria-haspopup={popup}
        aria-expanded={isOpen}
        onClick={() => setIsOpen(true)}
        onKeyDown={(event) => {
          if (popup !== 'menu' || event.key !== 'ArrowDown') return
          event.preventDefault()
          setIsOpen(true)
        }}
      >
        {children}
        <ChevronsUpDown size={16} aria-hidden="true" />
      </button>
      {isOpen && (
        <Suspense fallback={null}>
          {popover({ isOpen, triggerRef: button, onOpenChange: setIsOpen })}
        </Suspense>
      )}
    </>
  )
}
