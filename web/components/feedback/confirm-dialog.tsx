import type { ReactNode } from 'react'
import { type Change, useChange } from '../../api/use-change.ts'
import { Button } from '../form/button.tsx'
import { DialogBox, DialogFoot } from './dialog-box.tsx'
import { ErrorNote } from './messages.tsx'

interface ConfirmDialogProps<Result> extends Change<void, Result> {
  title: string
  confirm: string
  onClose: () => void
  children: ReactNode
  wide?: boolean
}

/** Asks before a change that cannot be undone, makes it, and closes. */
export function ConfirmDialog<Result>(props: ConfirmDialogProps<Result>) {
  const { title, confirm, onClose, children, wide = false, onDone, ...change } = props
  const { mutate, isPending, error } = useChange({
    ...change,
    onDone: (result: Result) => {
      onDone?.(result)
      onClose()
    },
  })
  return (
    <DialogBox title={title} onClose={onClose} role="alertdialog" className={wide ? 'dialog-wide' : ''}>
      {children}
      <ErrorNote error={error} />
      <DialogFoot onClose={onClose}>
        <Button kind="danger" disabled={isPending} onClick={() => mutate()}>
          {isPending ? 'Working …' : confirm}
        </Button>
      </DialogFoot>
    </DialogBox>
  )
}
