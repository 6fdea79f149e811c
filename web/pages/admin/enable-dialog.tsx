import type { EnabledView } from '../../../src/core/api/offers.ts'
import { OPERATOR_API } from '../../api/operator-queries.ts'
import { requestJson } from '../../api/request.ts'
import { ConfirmDialog } from '../../components/feedback/confirm-dialog.tsx'

/** Closes a breaker by hand, after asking. `subject` is the id of an offer, which holds a slash, or of a provider. */
export function EnableDialog({ subject, onClose }: { subject: string; onClose: () => void }) {
  const kind = subject.includes('/') ? 'offers' : 'providers'
  return (
    <ConfirmDialog
      title="Resume calls?"
      confirm="Resume calls"
      send={() =>
        requestJson<EnabledView>('POST', `${OPERATOR_API}/${kind}/${encodeURIComponent(subject)}/enable`)
      }
      stale={[['operator']]}
      done={({ id, closed }) =>
        closed.length > 0 ? `${id} receives calls again.` : `${id} was no longer held back.`
      }
      onClose={onClose}
    >
      <p>
        Every worker sends calls to <code>{subject}</code> again at once. Calls that still fail there go on
        elsewhere, and it is held back again. The action is recorded with your key.
      </p>
    </ConfirmDialog>
  )
}
