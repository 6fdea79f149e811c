import { useMutation, useQueryClient } from '@tanstack/react-query'
import { showToast } from '../components/feedback/toasts.tsx'
import { isRead } from './read.ts'
import { messageOf } from './request.ts'

export interface Change<Input, Result> {
  send: (input: Input) => Promise<Result>
  /** Paths of reads that are out of date afterwards, with all that begin alike. */
  stale?: readonly string[]
  /** The toast that confirms it. */
  done?: string | ((result: Result) => string)
  onDone?: (result: Result) => void
}

/** A request that changes something. Input and result may hold secrets, so no cache keeps them. */
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

/** The same for a button without room for an error of its own: a failure is shown as a toast. */
export function useAction<Input = void, Result = unknown>(change: Change<Input, Result>) {
  const { mutate, isPending, failureCount } = useChange(change)
  const onError = (error: Error) => showToast(messageOf(error))
  return { run: (input: Input) => mutate(input, { onError }), isPending, failureCount }
}
