import type { ReactNode } from 'react'

/**
 * A button that runs something on this page; without `onClick` it submits its form. `about` is read out after its
 * text: what it acts on. `icon`: it shows nothing else, and `about` is its whole name.
 */
export function Button(props: {
  onClick?: () => void
  children: ReactNode
  kind?: 'primary' | 'danger' | 'quiet' | undefined
  size?: 'small' | 'large' | undefined
  icon?: boolean
  disabled?: boolean
  about?: string
}) {
  const { onClick, children, kind, size, icon = false, disabled, about } = props
  const looks = [kind, icon && 'icon', size].filter(Boolean).map((look) => ` button-${look}`)
  return (
    <button
      type={onClick ? 'button' : 'submit'}
      className={`button${looks.join('')}`}
      disabled={disabled}
      onClick={onClick}
    >
      {children}
      {about && <span className="sr-only">{icon ? about : ` ${about}`}</span>}
    </button>
  )
}
