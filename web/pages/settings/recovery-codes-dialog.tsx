import { DialogBox } from '../../components/feedback/dialogs.tsx'
import { Note } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { CopyButton } from '../../components/text/copy.tsx'

/** The one time that recovery codes are shown. It closes by its own button only. */
export function RecoveryCodesDialog({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  return (
    <DialogBox title="Keep your recovery codes" onClose={onClose} sticky>
      <Note tone="warn">This is the only time they are shown.</Note>
      <p>Each signs you in once, if you lose your app or passkey. Keep them where you keep your passwords.</p>
      <ul className="secret grid grid-cols-2 gap-x-6 gap-y-1 rounded-md border border-dashed border-line-strong bg-page px-4 py-3">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className="row justify-end">
        <CopyButton text={codes.join('\n')} of="the recovery codes" label="Copy all" />
        <Button kind="primary" onClick={onClose}>
          I have kept them
        </Button>
      </div>
    </DialogBox>
  )
}
