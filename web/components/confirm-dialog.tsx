import type { ReactNode } from 'react'
import { messageOf } from '../api/request.ts'
import { DialogBox } from './dialog-box.tsx'
import { Note } from './note.tsx'

/** Asks before something that cannot be taken back. */
export function ConfirmDialog(props: {
  title: string
  confirm: string
  isOpen: boolean
  isPending: boolean
  error: Error | null
  onConfirm: () => void
  onClose: () => void
  children: ReactNode
}) {
  return (
    <DialogBox title={props.title} isOpen={props.isOpen} onClose={props.onClose} role="alertdialog">
      <div>{props.children}</div>
      {props.error && (
        <Note tone="bad" announce>
          {messageOf(props.error)}
        </Note>
      )}
      <div className="dialog-foot">
        <button type="button" className="button" onClick={props.onClose}>
          Cancel
        </button>
        <button
          type="button"
          className="button button-danger"
          disabled={props.isPending}
          onClick={props.onConfirm}
        >
          {props.isPending ? 'Working …' : props.confirm}
        </button>
      </div>
    </DialogBox>
  )
}
