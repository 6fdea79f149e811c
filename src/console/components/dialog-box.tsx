import { X } from 'lucide-react'
import type { ReactNode } from 'react'
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
