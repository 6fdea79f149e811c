import { X } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { type Change, useChange } from '../../api/use-change.ts'
import { Button } from '../form/button.tsx'
import { type FieldOf, Form, type FormOptions, Submit, useForm } from '../form/form.tsx'
import { CopyButton } from '../text/copy.tsx'
import { ErrorNote, Note } from './messages.tsx'

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
            {!sticky && (
              <Button kind="quiet" icon size="small" about="Close" onClick={onClose}>
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
function DialogFoot({ onClose, children }: { onClose: () => void; children: ReactNode }) {
  return (
    <div className="row justify-end">
      <Button onClick={onClose}>Cancel</Button>
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

/**
 * A form in a dialog, closed once it was sent. `submit` and `pending` are the texts of its button, before and while the
 * request runs.
 */
export function FormDialog<Values extends Record<string, string>, Result>(
  props: FormOptions<Values, Result> & {
    title: string
    submit: string
    pending: string
    kind?: 'primary' | 'danger'
    onClose: () => void
    /** Gets what a field shows and does, by its name. */
    children: (field: FieldOf<Values>) => ReactNode
  },
) {
  const { title, submit, pending, kind = 'primary', onClose, children, onDone, ...options } = props
  const form = useForm<Values, Result>({
    ...options,
    name: title,
    onDone: (result) => {
      onDone?.(result)
      onClose()
    },
  })
  return (
    <DialogBox title={title} onClose={onClose}>
      <Form form={form}>
        {children(form.field)}
        <DialogFoot onClose={onClose}>
          <Submit form={form} kind={kind} pending={pending}>
            {submit}
          </Submit>
        </DialogFoot>
      </Form>
    </DialogBox>
  )
}

interface ConfirmDialogProps<Result> extends Change<void, Result> {
  title: string
  confirm: string
  onClose: () => void
  children: ReactNode
  wide?: boolean
  /** False while what it asks about is not known yet, so that it cannot be confirmed. */
  isReady?: boolean
}

/** Asks before a change that cannot be undone, makes it, and closes. */
export function ConfirmDialog<Result>(props: ConfirmDialogProps<Result>) {
  const { title, confirm, onClose, children, wide = false, isReady = true, onDone, ...change } = props
  const { mutate, isPending, error } = useChange({
    ...change,
    onDone: (result: Result) => {
      onDone?.(result)
      onClose()
    },
  })
  return (
    <DialogBox
      title={title}
      onClose={onClose}
      role="alertdialog"
      className={wide ? 'w-[min(100%,42rem)]' : ''}
    >
      {children}
      <ErrorNote error={error} />
      <DialogFoot onClose={onClose}>
        <Button kind="danger" disabled={isPending || !isReady} onClick={() => mutate()}>
          {isPending ? 'Saving …' : confirm}
        </Button>
      </DialogFoot>
    </DialogBox>
  )
}

/** The one time that a secret is shown. It closes by its own button only. */
export function SecretDialog(props: {
  title: string
  secret: string
  of: string
  copy: string
  warning: string
  onClose: () => void
  children: ReactNode
  wide?: boolean
}) {
  const { title, secret, of, copy, warning, onClose, children, wide = false } = props
  return (
    <DialogBox title={title} onClose={onClose} sticky className={wide ? 'w-[min(100%,42rem)]' : ''}>
      <Note tone="warn">{warning}</Note>
      <div className="secret row rounded-md border border-dashed border-line-strong bg-page px-4 py-3">
        <code className="flex-[1_1_14rem] wrap-anywhere">{secret}</code>
        <CopyButton text={secret} of={of} label={copy} />
      </div>
      {children}
      <div className="row justify-end">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </DialogBox>
  )
}
