import { useMutation, useQueryClient } from '@tanstack/react-query'
import { showToast } from '../components/feedback/toasts.tsx'
import { isRead } from './read.ts'
import { messageOf } from './request.ts'

export interface Change<Input, Result> {
  send: (input: Input) => Promise<Result>
  /** Prefixes of the paths of reads that the change invalidates. */
  stale?: readonly string[]
  /** The toast that confirms it. */
  done?: string | ((result: Result) => string)
  onDone?: (result: Result) => void
}

/** A request that changes something. Input and result may contain secrets and are not cached. */
export function useChange<Input = void, Result = unknown>(change: Change<Input, Result>) {
  const client = useQueryClient()
  const { send, stale = [], done, onDone } = change
  return useMutation({
    mutationFn: send,
    gcTime: 0,
    onSuccess: (result) => {
      for (const prefix of stale) void client.invalidateQueries({ predicate: isRead(prefix) })
      if (done !== undefined) showToast(typeof done === 'string' ? done : done(result))
      onDone?.(result)
    },
  })
}

/** The same for a button, which has no place for an error: a failure is shown as a toast. */
export function useAction<Input = void, Result = unknown>(change: Change<Input, Result>) {
  const { mutateAsync, isPending } = useChange(change)
  // Also where what asked for it is gone by then, such as the search.
  const run = (input: Input) => void mutateAsync(input).catch((error) => showToast(messageOf(error)))
  return { run, isPending }
}
