import type { ReactNode } from 'react'
import { useChange } from '../../api/use-change.ts'
import { ErrorNote } from '../feedback/messages.tsx'
import { Button } from './button.tsx'

/** A large button on a page of its own column, with its error above it. `pending`: its text while the request runs. */
export function LargeAction(props: {
  send: () => Promise<unknown>
  pending?: string
  kind?: 'primary'
  children: ReactNode
}) {
  const { send, pending, kind, children } = props
  const { mutate, isPending, error } = useChange({ send })
  return (
    <div className="stack">
      <ErrorNote error={error} />
      <Button kind={kind} size="large" disabled={isPending} onClick={() => mutate()}>
        {isPending ? (pending ?? children) : children}
      </Button>
    </div>
  )
}
