import type { DeletedPromptLogs, KeyEditBody, KeyView } from '../../../src/core/api/keys.ts'
import { path, requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { Note } from '../../components/feedback/messages.tsx'
import { plural } from '../../lib/format.ts'

const RETENTIONS = [1, 3, 7, 14, 30].map((days) => ({ value: String(days), name: plural(days, 'day') }))

export const DELETE_OR_KEEP = [
  { value: 'delete', name: 'Delete them now' },
  { value: 'keep', name: 'Keep them until they expire' },
]

const setDays = (id: string, days: number | null) =>
  requestJson<KeyView>('PATCH', path`/console/api/keys/${id}`, {
    prompt_log_days: days,
  } satisfies KeyEditBody)

interface DialogProps {
  apiKey: KeyView
  onClose: () => void
}

/** Says what is stored when logging is on, and turns it on. */
export const LogPromptsDialog = ({ apiKey: { id, name }, onClose }: DialogProps) => (
  <FormDialog
    title={`Log prompts of “${name}”?`}
    submit="Turn on logging"
    fields={{ days: { label: 'Keep for', initial: '7', options: RETENTIONS } }}
    send={({ days }) => setDays(id, Number(days))}
    stale={['/console/api/keys']}
    done="Prompt logging is on for new requests."
    onClose={onClose}
  >
    <p>From now on, for every request with this key, Shuntyard stores:</p>
    <ul className="list-disc pl-6">
      <li>the request, with all messages, up to 256 KB; images and files are left out</li>
      <li>the answer, with its tool calls, up to 256 KB</li>
    </ul>
    <Note tone="warn">
      Prompts may contain personal data. They are encrypted, deleted after the time below, and shown to people
      of this account who may use the key; operators cannot read them here. A log can be missing after a
      failure.
    </Note>
  </FormDialog>
)

/** Turns logging off, and deletes what is stored unless it is to stay until it expires. */
export const StopLoggingDialog = ({ apiKey: { id, name }, onClose }: DialogProps) => (
  <FormDialog
    title={`Stop logging prompts of “${name}”?`}
    submit="Stop logging"
    kind="danger"
    fields={{
      stored: {
        label: 'Stored prompts and answers',
        initial: 'delete',
        options: DELETE_OR_KEEP,
      },
    }}
    send={async ({ stored }) => {
      await setDays(id, null)
      if (stored === 'delete')
        await requestJson<DeletedPromptLogs>('DELETE', path`/console/api/keys/${id}/prompt-logs`)
    }}
    stale={['/console/api/keys', '/console/api/calls']}
    done="Prompt logging is off."
    onClose={onClose}
  >
    <p>Prompts and answers of new requests are no longer stored.</p>
  </FormDialog>
)
