import type { DeletedPromptLogs, KeyEditBody, KeyView } from '../../../src/core/api/keys.ts'
import { path, requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { Note } from '../../components/feedback/messages.tsx'
import { wholeNumberProblem } from '../../lib/checks.ts'
import { plural } from '../../lib/format.ts'
import { numberOf } from './key-fields.tsx'

const RETENTIONS = [1, 3, 7, 14, 30].map((days) => ({ value: String(days), name: plural(days, 'day') }))

const DELETE_OR_KEEP = [
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

/** Sets for how long a key's requests are answered again, and removes the responses that are stored. */
export const ResponseCacheDialog = ({ apiKey, onClose }: DialogProps) => (
  <FormDialog
    title={`Response cache of “${apiKey.name}”`}
    submit="Save"
    fields={{
      seconds: {
        label: 'Seconds',
        initial: String(apiKey.cache_seconds ?? ''),
        inputMode: 'numeric',
        placeholder: 'off',
        hint: 'For so long the same request is answered by its first response, at no cost. A request decides itself with x-shuntyard-cache.',
        check: (text) => wholeNumberProblem(text, 86_400),
      },
      stored: {
        label: 'Stored responses of the account',
        initial: 'keep',
        options: DELETE_OR_KEEP,
      },
    }}
    send={async ({ seconds, stored }) => {
      await requestJson('PATCH', path`/console/api/keys/${apiKey.id}`, { cache_seconds: numberOf(seconds) })
      if (stored === 'delete') await requestJson('DELETE', '/console/api/cached-responses')
    }}
    stale={['/console/api/keys']}
    done="Response cache saved."
    onClose={onClose}
  />
)
