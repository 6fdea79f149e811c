import { CircleAlert, CircleCheck, Info, type LucideIcon, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { messageOf } from '../../api/request.ts'
import { Button } from '../form/button.tsx'

const ICONS = { plain: Info, good: CircleCheck, warn: TriangleAlert, bad: CircleAlert }

/** Something to know before going on. `announce` reads it out when it appears. */
export function Note(props: { tone?: keyof typeof ICONS; announce?: boolean; children: ReactNode }) {
  const { tone = 'plain', announce = false, children } = props
  const Icon = ICONS[tone]
  return (
    <div className="flex gap-3 rounded-md px-4 py-3" data-tone={tone} role={announce ? 'alert' : undefined}>
      <Icon className="mt-[0.2em]" size={18} aria-hidden="true" />
      <div className="min-w-0 flex-1 text-ink">{children}</div>
    </div>
  )
}

/** Why a request failed; nothing where none did. */
export const ErrorNote = ({ error }: { error: Error | null }) =>
  error && (
    <Note tone="bad" announce>
      <span className="whitespace-pre-line">{messageOf(error)}</span>
    </Note>
  )

/** Says that a list or a table is empty. */
export const Empty = ({ children }: { children: ReactNode }) => (
  <p className="panel-body text-muted">{children}</p>
)

/** Explains a page that is empty, and offers the next step. */
export function EmptyState(props: { icon: LucideIcon; children: ReactNode; action?: ReactNode }) {
  const { icon: Icon, children, action } = props
  return (
    <div className="stack justify-items-center gap-3 px-4 py-8 text-center text-soft [&_p]:max-w-120">
      <Icon className="text-muted" size={28} strokeWidth={1.5} aria-hidden="true" />
      <p>{children}</p>
      {action}
    </div>
  )
}

interface Response<T> {
  data: T | undefined
  error: Error | null
  refetch: () => unknown
}

/** The data of a query, a placeholder while it loads, or why it failed. */
export function QueryView<T>(props: {
  query: Response<T>
  loading?: ReactNode
  children: (data: T) => ReactNode
}) {
  const { query, loading = <SkeletonLines />, children } = props
  // Data stays on screen while a later attempt fails.
  if (query.data !== undefined) return children(query.data)
  if (!query.error) return loading
  return (
    <div className="panel-body">
      <Note tone="bad" announce>
        <p>{messageOf(query.error)}</p>
        <p>
          <Button size="small" onClick={() => void query.refetch()}>
            Try again
          </Button>
        </p>
      </Note>
    </div>
  )
}

/** A placeholder for lines of content; screen readers read one word. */
export const SkeletonLines = () => (
  <div className="skeleton-lines panel-body" role="status">
    <span className="sr-only">Loading …</span>
    {Array.from({ length: 4 }, (_, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same
      <span key={index} className="skeleton h-[1.1rem]" />
    ))}
  </div>
)
