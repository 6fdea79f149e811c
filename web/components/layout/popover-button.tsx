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
  const { popup, className = 'border-line', children, popover } = props
  const [isOpen, setIsOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  return (
    <>
      <button
        ref={button}
        type="button"
        className={`flex w-full cursor-pointer items-center gap-2 rounded-md border bg-surface py-1.5 pr-2 pl-3 text-ink hover:border-line-strong focus-visible:outline-2 ${className}`}
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
