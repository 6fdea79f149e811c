import { useState } from 'react'
import { DialogBox } from '../../components/feedback/dialogs.tsx'
import { CheckField } from '../../components/form/fields.tsx'
import { CodeBlock } from '../../components/text/copy.tsx'
import { gatewayAddress } from '../../lib/gateway-address.ts'
import type { ChatSettings } from '../../lib/playground/chat-settings.ts'
import { linkFragment } from '../../lib/playground/playground-link.ts'

/** A link to the playground with these settings, to copy. */
export function LinkDialog({ settings, onClose }: { settings: ChatSettings; onClose: () => void }) {
  const [withSystem, setWithSystem] = useState(false)
  const link = `${gatewayAddress()}/playground${linkFragment(settings, withSystem)}`
  return (
    <DialogBox title="Copy a link" onClose={onClose}>
      <p>
        Opens the playground with these models and settings. The link contains no API key and no messages, and
        browsers do not send the part after <code>#</code> to any server.
      </p>
      {settings.system.trim() !== '' && (
        <CheckField label="Include the system prompt" checked={withSystem} onChange={setWithSystem} />
      )}
      <CodeBlock code={link} of="the link" wraps />
    </DialogBox>
  )
}
