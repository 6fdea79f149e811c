import { Trash2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import { DialogBox } from '../../components/feedback/dialogs.tsx'
import { Note, SkeletonLines } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { formatMoment } from '../../lib/format.ts'
import { type Conversation, titleOf } from '../../lib/playground/conversation.ts'
import type { History } from './use-history.ts'

/** The conversations that this browser keeps: opened again, or deleted. */
export function HistoryDialog(props: {
  history: History
  onOpen: (conversation: Conversation) => void
  onRemoved: (ids: readonly string[]) => void
  onClose: () => void
}) {
  const { history, onOpen, onRemoved, onClose } = props
  const { kept, problem, refresh } = history
  const [isClearing, setIsClearing] = useState(false)
  useEffect(refresh, [refresh])
  const remove = async (ids: string[]) => {
    await history.remove(ids)
    onRemoved(ids)
    setIsClearing(false)
  }
  return (
    <DialogBox title="History" onClose={onClose}>
      <p className="text-muted">
        The last 50 conversations of this account, kept in this browser only. Signing out does not delete
        them.
      </p>
      {problem && <Note tone="warn">{problem}</Note>}
      {kept === null && !problem && <SkeletonLines />}
      {kept?.length === 0 && <p>No conversations yet.</p>}
      {kept && kept.length > 0 && (
        <ul className="max-h-[50dvh] divide-y divide-line overflow-y-auto rounded-md border border-line">
          {kept.map((conversation) => (
            <li key={conversation.id} className="flex items-center">
              <button
                type="button"
                className="grid min-w-0 flex-1 cursor-pointer bg-transparent px-4 py-2 text-left hover:bg-sunken"
                onClick={() => {
                  onOpen(conversation)
                  onClose()
                }}
              >
                <span className="truncate font-medium">{titleOf(conversation)}</span>
                <span className="truncate text-sm text-muted">
                  {formatMoment(new Date(conversation.updatedAt).toISOString())} ·{' '}
                  {conversation.settings.models.join(', ')}
                </span>
              </button>
              <Button
                icon={Trash2}
                size="small"
                about={`Delete “${titleOf(conversation)}”`}
                onClick={() => void remove([conversation.id])}
              />
            </li>
          ))}
        </ul>
      )}
      {kept && kept.length > 0 && (
        <div className="row justify-end">
          {isClearing ? (
            <>
              <span>Delete all {kept.length} conversations?</span>
              <Button onClick={() => setIsClearing(false)}>Cancel</Button>
              <Button kind="danger" onClick={() => void remove(kept.map(({ id }) => id))}>
                Delete all
              </Button>
            </>
          ) : (
            <Button onClick={() => setIsClearing(true)}>Clear history</Button>
          )}
        </div>
      )}
    </DialogBox>
  )
}
