import { CopyButton } from '../../components/copy-button.tsx'
import { DialogBox } from '../../components/dialog-box.tsx'
import { Note } from '../../components/note.tsx'
import { formatMoment } from '../../lib/dates.ts'

export interface ShownSecret {
  secret: string
  /** Until when the one before signs beside it; null: there was none. */
  oldSignsUntil: string | null
}

/** The one time that a signing secret is shown. */
export function WebhookSecretDialog({ shown, onClose }: { shown: ShownSecret | null; onClose: () => void }) {
  return (
    <DialogBox title="Copy the signing secret now" isOpen={shown !== null} onClose={onClose} sticky>
      {shown && (
        <>
          <Note tone="warn">This is the only time it is shown.</Note>
          <div className="secret">
            <code>{shown.secret}</code>
            <CopyButton text={shown.secret} of="the signing secret" label="Copy secret" />
          </div>
          <p>
            Verify every message with it, by any library of Standard Webhooks and the body exactly as it came.
            {shown.oldSignsUntil &&
              ` The old secret signs beside it until ${formatMoment(shown.oldSignsUntil)}.`}
          </p>
          <div className="dialog-foot">
            <button type="button" className="button button-primary" onClick={onClose}>
              I have copied it
            </button>
          </div>
        </>
      )}
    </DialogBox>
  )
}
