import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'

const ICONS = { plain: Info, good: CircleCheck, warn: TriangleAlert, bad: CircleAlert }

/** Something to know before going on. `announce` reads it out when it appears. */
export function Note(props: { tone?: keyof typeof ICONS; announce?: boolean; children: ReactNode }) {
  const { tone = 'plain', announce = false, children } = props
  const Icon = ICONS[tone]
  return (
    <div className={tone === 'plain' ? 'note' : `note note-${tone}`} role={announce ? 'alert' : undefined}>
      <Icon size={18} aria-hidden="true" />
      <div>{children}</div>
    </div>
  )
}
