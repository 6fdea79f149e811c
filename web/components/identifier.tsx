import { CopyButton } from './copy-button.tsx'

/** An id to read, compare and copy. */
export function Identifier({ id, of }: { id: string; of: string }) {
  return (
    <span className="identifier">
      <code>{id}</code>
      <CopyButton text={id} of={of} />
    </span>
  )
}
