import { Trash2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import { DialogBox } from '../../components/feedback/dialogs.tsx'
import { Note, SkeletonLines } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { PickList, PickRow } from '../../components/form/pick-list.tsx'
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
        <PickList>
          {kept.map((conversation) => {
            const title = titleOf(conversation)
            const at = formatMoment(new Date(conversation.updatedAt).toISOString())
            return (
              <PickRow
                key={conversation.id}
                name={<span className="truncate font-medium">{title}</span>}
                second={`${at} · ${conversation.settings.models.join(', ')}`}
                onPick={() => {
                  onOpen(conversation)
                  onClose()
                }}
              >
                <Button
                  icon={Trash2}
                  size="small"
                  about={`Delete “${title}”`}
                  onClick={() => void remove([conversation.id])}
                />
              </PickRow>
            )
          })}
        </PickList>
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
