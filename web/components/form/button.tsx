import type { LucideIcon } from 'lucide-react'
import { type ReactNode, useState } from 'react'

export interface ButtonProps {
  onClick?: () => void
  /** The dialog that it opens, given what closes it. It belongs to the button, and goes with it. */
  dialog?: (close: () => void) => ReactNode
  children?: ReactNode
  kind?: 'primary' | 'danger' | 'quiet' | undefined
  size?: 'small' | 'large' | undefined
  /** Shown before its text, or instead of one: `about` is then its whole name. */
  icon?: LucideIcon
  disabled?: boolean
  /** Of what it shows and hides. */
  isOpen?: boolean
  /** Read out after its text: what it acts on. */
  about?: string
}

/** A button that runs something on this page or opens a dialog; without either it submits its form. */
export function Button(props: ButtonProps) {
  const { onClick, dialog, children, size, icon: Icon, disabled, isOpen, about } = props
  const isBare = children === undefined
  const { kind = isBare ? 'quiet' : undefined } = props
  const [showsDialog, setShowsDialog] = useState(false)
  const looks = [kind, isBare && 'icon', size].filter(Boolean).map((look) => ` button-${look}`)
  const press = dialog ? () => setShowsDialog(true) : onClick
  return (
    <>
      <button
        type={press ? 'button' : 'submit'}
        className={`button${looks.join('')}`}
        disabled={disabled}
        aria-expanded={isOpen}
        onClick={press}
      >
        {Icon && <Icon size={size === 'small' ? 16 : 18} aria-hidden="true" />}
        {children}
        {about && <span className="sr-only">{isBare ? about : ` ${about}`}</span>}
      </button>
      {showsDialog && dialog?.(() => setShowsDialog(false))}
    </>
  )
}
