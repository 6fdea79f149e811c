import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

/** Nothing there yet: says what would be, and what to do for it. */
export function EmptyState(props: { icon: LucideIcon; children: ReactNode; action?: ReactNode }) {
  const { icon: Icon, children, action } = props
  return (
    <div className="empty">
      <Icon size={28} strokeWidth={1.5} aria-hidden="true" />
      <p>{children}</p>
      {action}
    </div>
  )
}
