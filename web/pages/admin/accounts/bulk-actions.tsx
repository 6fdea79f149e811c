import { useRef } from 'react'
import { messageOf } from '../../../api/request.ts'
import { FormDialog } from '../../../components/feedback/dialogs.tsx'
import { AUDIT_REASON } from '../../../components/form/field-specs.ts'
import { plural } from '../../../lib/format.ts'

/** Does the same to several things, one after another; those that fail are named, and tried again with the next click. */
export function BulkDialog<Item extends { id: string; name: string }>(props: {
  title: string
  submit: string
  what: string
  items: readonly Item[]
  /** Why, for the audit log; false: not asked for. */
  asksReason: boolean
  send: (item: Item, reason: string) => Promise<unknown>
  stale: readonly string[]
  done: string
  kind?: 'primary' | 'danger'
  onClose: () => void
  onDone: () => void
}) {
  const { items, what, asksReason, send, kind = 'danger', ...dialog } = props
  const finished = useRef(new Set<string>())
  const sendAll = async ({ reason }: { reason: string }) => {
    const failed: string[] = []
    for (const item of items.filter(({ id }) => !finished.current.has(id))) {
      try {
        await send(item, reason)
        finished.current.add(item.id)
      } catch (error) {
        failed.push(`${item.name}: ${messageOf(error as Error)}`)
      }
    }
    if (failed.length > 0)
      throw new Error(`${failed.length} of ${plural(items.length, 'action')} failed:\n${failed.join('\n')}`)
  }
  return (
    <FormDialog
      {...dialog}
      pending="Working …"
      kind={kind}
      fields={{ reason: asksReason ? AUDIT_REASON : { label: 'Reason' } }}
      send={sendAll}
    >
      {({ input }) => (
        <>
          <p>{what}</p>
          <ul className="max-h-60 list-disc overflow-auto pl-[1.2em] wrap-anywhere">
            {items.map(({ id, name }) => (
              <li key={id}>{name}</li>
            ))}
          </ul>
          {asksReason && input('reason')}
        </>
      )}
    </FormDialog>
  )
}
