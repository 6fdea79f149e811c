import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { EnabledView } from '../../../src/core/api/offers.ts'
import { OPERATOR_API } from '../../api/operator-queries.ts'
import { requestJson } from '../../api/request.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { showToast } from '../../components/toasts.tsx'

/** What a breaker belongs to: ids of offers hold a slash, those of providers never do. */
const kindOf = (subject: string) => (subject.includes('/') ? 'offers' : 'providers')

/** Closes a breaker by hand, after asking. `subject` is the id of an offer or a provider; null: closed. */
export function EnableDialog({ subject, onClose }: { subject: string | null; onClose: () => void }) {
  const client = useQueryClient()
  const enable = useMutation({
    mutationFn: (id: string) =>
      requestJson<EnabledView>('POST', `${OPERATOR_API}/${kindOf(id)}/${encodeURIComponent(id)}/enable`),
    onSuccess: ({ id, closed }) => {
      void client.invalidateQueries({ queryKey: ['operator'] })
      showToast(closed.length > 0 ? `${id} gets calls again.` : `${id} was not held back any more.`)
      onClose()
    },
  })
  return (
    <ConfirmDialog
      title="Send calls there again?"
      confirm="Send calls again"
      isOpen={subject !== null}
      isPending={enable.isPending}
      error={enable.error}
      onConfirm={() => subject && enable.mutate(subject)}
      onClose={() => {
        enable.reset()
        onClose()
      }}
    >
      <p>
        Calls go to <code>{subject}</code> again at once, from every worker. Where it still fails, they go on
        elsewhere and it is held back again. It is written down that you did this.
      </p>
    </ConfirmDialog>
  )
}
