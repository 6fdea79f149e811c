import type { ReactNode } from 'react'

/** A button that runs something on this page. `about` is read out after its text: what it acts on. */
export function Button(props: {
  onClick: () => void
  children: ReactNode
  kind?: 'primary' | 'danger'
  size?: 'small' | 'large'
  disabled?: boolean
  about?: string
}) {
  const { onClick, children, kind, size, disabled, about } = props
  return (
    <button type="button" className={buttonClass(kind, size)} disabled={disabled} onClick={onClick}>
      {children}
      {about && <span className="visually-hidden"> {about}</span>}
    </button>
  )
}

export const buttonClass = (...looks: Array<string | undefined>): string =>
  ['button', ...looks.filter(Boolean).map((look) => `button-${look}`)].join(' ')
