import { type Change, useAction } from '../../api/use-change.ts'
import { Button, type ButtonProps } from './button.tsx'

/** A button that makes a change at once. It is disabled while the request runs, and a failure is shown as a toast. */
export function ActionButton<Result>(
  props: ButtonProps & {
    action: Change<void, Result>
    /** Its text while the request runs, where that is another. */
    pending?: string
  },
) {
  const { action, pending, disabled = false, children, ...button } = props
  const { run, isPending } = useAction(action)
  return (
    <Button {...button} disabled={disabled || isPending} onClick={() => run()}>
      {isPending ? (pending ?? children) : children}
    </Button>
  )
}
