import { X } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'

/**
 * A dialog over the page, open while it is rendered: it takes the focus, keeps it, and gives it back. `sticky`: it
 * closes by its own buttons only, because what it shows cannot be shown again.
 */
export function DialogBox(props: {
  title: string
  onClose: () => void
  children: ReactNode
  sticky?: boolean
  role?: 'dialog' | 'alertdialog'
  className?: string
}) {
  const { title, onClose, children, sticky = false, role = 'dialog', className = '' } = props
  useFocusAfterwards()
  return (
    <ModalOverlay
      className="dialog-veil"
      isOpen
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

/** The buttons at the end of a dialog. */
export function DialogFoot({ onClose, children }: { onClose: () => void; children: ReactNode }) {
  return (
    <div className="dialog-foot">
      <button type="button" className="button" onClick={onClose}>
        Cancel
      </button>
      {children}
    </div>
  )
}

/**
 * The library gives the focus back to the element that had it. Where that element is gone, such as a button of a
 * dialog before this one, the heading of the page gets the focus.
 */
function useFocusAfterwards(): void {
  useEffect(
    () => () => {
      window.setTimeout(() => {
        if (document.activeElement === document.body) document.querySelector<HTMLElement>('main h1')?.focus()
      }, 50)
    },
    [],
  )
}
