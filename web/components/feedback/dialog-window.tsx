import { X } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { Button } from '../form/button.tsx'

export interface DialogProps {
  title: string
  onClose: () => void
  children: ReactNode
  sticky?: boolean
  role?: 'dialog' | 'alertdialog'
  className?: string
}

/** What DialogBox shows once it is loaded. */
export function DialogWindow(props: DialogProps) {
  const { title, onClose, children, sticky = false, role = 'dialog', className = '' } = props
  useFocusAfterwards()
  return (
    <ModalOverlay
      className="fixed inset-0 z-40 grid place-items-center overflow-y-auto bg-veil p-4"
      isOpen
      isDismissable={!sticky}
      isKeyboardDismissDisabled={sticky}
      onOpenChange={(open) => !open && onClose()}
    >
      <Modal className={`dialog ${className}`}>
        <Dialog role={role} className="stack p-6 outline-none">
          <div className="flex items-start justify-between gap-3">
            <Heading slot="title" level={2}>
              {title}
            </Heading>
            {!sticky && <Button icon={X} size="small" about="Close" onClick={onClose} />}
          </div>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
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
