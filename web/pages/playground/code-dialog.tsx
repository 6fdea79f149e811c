import { useState } from 'react'
import { DialogBox } from '../../components/feedback/dialogs.tsx'
import { SelectField } from '../../components/form/fields.tsx'
import { TabbedCode } from '../../components/text/snippets.tsx'
import { gatewayAddress } from '../../lib/gateway-address.ts'
import { requestCode, type ShownRequest, withoutFiles } from '../../lib/playground/request-code.ts'
import { SNIPPET_LANGUAGES } from '../../lib/snippets.ts'

/** What the playground is about to send, as programs. `requests`: by the name of their model. */
export function CodeDialog(props: {
  requests: Record<string, Omit<ShownRequest, 'origin'>>
  onClose: () => void
}) {
  const { requests, onClose } = props
  const names = Object.keys(requests)
  const [name, setName] = useState(names[0] ?? '')
  const chosen = requests[name]
  const shown = chosen && {
    ...chosen,
    ...(chosen.body && { body: withoutFiles(chosen.body) }),
    origin: gatewayAddress(),
  }
  return (
    <DialogBox title="View as code" onClose={onClose} className="w-[min(100%,46rem)]">
      {names.length > 1 && (
        <SelectField
          label="Model"
          value={name}
          onChange={setName}
          options={names.map((value) => ({ value, name: value }))}
        />
      )}
      <p className="text-muted">
        The programs take your API key from the environment variable <code>SHUNTYARD_API_KEY</code>.
      </p>
      {shown && (
        <TabbedCode
          label="Language"
          about="program"
          codes={SNIPPET_LANGUAGES.map((language) => ({
            ...language,
            code: requestCode(language.id, shown),
          }))}
        />
      )}
    </DialogBox>
  )
}
