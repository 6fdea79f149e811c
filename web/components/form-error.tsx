import { messageOf, RequestFailure } from '../api/request.ts'
import { Note } from './note.tsx'

/** What the gateway said about one field; null when it said nothing about it. */
export const fieldError = (error: Error | null, field: string): string | null =>
  error instanceof RequestFailure && error.param === field ? error.message : null

/** What was refused about the form as a whole, above it. What is about one of the `fields` stands there instead. */
export function FormError({ error, fields = [] }: { error: Error | null; fields?: readonly string[] }) {
  if (!error || (error instanceof RequestFailure && error.param !== null && fields.includes(error.param)))
    return null
  return (
    <Note tone="bad" announce>
      {messageOf(error)}
    </Note>
  )
}
