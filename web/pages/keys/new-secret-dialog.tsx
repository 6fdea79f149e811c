import type { CreatedKey } from '../../../src/core/api/keys.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { DialogBox } from '../../components/dialog-box.tsx'
import { Note } from '../../components/note.tsx'
import { Snippets } from '../../components/snippets.tsx'

/** The one time that a key is shown. It closes by its own button only. */
export function NewSecretDialog({ created, onClose }: { created: CreatedKey | null; onClose: () => void }) {
  return (
    <DialogBox
      title="Copy your new key now"
      isOpen={created !== null}
      onClose={onClose}
      sticky
      className="dialog-wide"
    >
      {created && (
        <>
          <Note tone="warn">
            This is the only time it is shown. Nobody can look it up again, us included.
          </Note>
          <div className="secret">
            <code>{created.secret}</code>
            <CopyButton text={created.secret} of="the key" label="Copy key" />
          </div>
          <h3>A first call with it</h3>
          <Snippets apiKey={created.secret} />
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
