import type { ReactNode } from 'react'
import { Button } from '../form/button.tsx'
import { CopyButton } from '../text/copy.tsx'
import { DialogBox } from './dialog-box.tsx'
import { Note } from './messages.tsx'

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
    <DialogBox title={title} onClose={onClose} sticky className={wide ? 'dialog-wide' : ''}>
      <Note tone="warn">{warning}</Note>
      <div className="secret">
        <code>{secret}</code>
        <CopyButton text={secret} of={of} label={copy} />
      </div>
      {children}
      <div className="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </DialogBox>
  )
}
