import { X } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'

/**
 * A dialog over the page: it takes the focus, keeps it, and gives it back. `sticky`: it closes by its own buttons
 * only, because what it shows cannot be shown again.
 */
export function DialogBox(props: {
  title: string
  isOpen: boolean
  onClose: () => void
  children: ReactNode
  sticky?: boolean
  role?: 'dialog' | 'alertdialog'
  className?: string
}) {
  const { title, isOpen, onClose, children, sticky = false, role = 'dialog', className = '' } = props
  useFocusAfterwards(isOpen)
  return (
    <ModalOverlay
      className="dialog-veil"
      isOpen={isOpen}
      isDismissable={!sticky}
      isKeyboardDismissDisabled={sticky}
      onOpenChange={(open) => !open && onClose()}
    >
      <Modal className={`dialog ${className}`}>
        <Dialog role={role}>
          <div className="dialog-head">
            <Heading slot="title" level={2}>
              {title}
            </Heading>
            {!sticky && (
              <Button
                className="button button-quiet button-icon button-small"
                aria-label="Close"
                onPress={onClose}
              >
                <X size={18} aria-hidden="true" />
              </Button>
            )}
          </div>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

/**
 * The library gives the focus back to what had it. Where that has gone meanwhile, such as a button of a dialog before
 * this one, the heading of the page gets it, rather than nothing.
 */
function useFocusAfterwards(isOpen: boolean): void {
  const wasOpen = useRef(false)
  useEffect(() => {
    const hasClosed = wasOpen.current && !isOpen
    wasOpen.current = isOpen
    if (!hasClosed) return
    const timer = window.setTimeout(() => {
      if (document.activeElement === document.body) document.querySelector<HTMLElement>('main h1')?.focus()
    }, 50)
    return () => window.clearTimeout(timer)
  }, [isOpen])
}
