import type { KeyView } from '../../../src/core/api/keys.ts'
import { path, requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { wholeNumberProblem } from '../../lib/checks.ts'
import { numberOf } from './key-fields.tsx'
import { DELETE_OR_KEEP } from './prompt-logging-dialog.tsx'

/** Sets for how long a key's requests are answered again, and removes the responses that are stored. */
export const ResponseCacheDialog = ({ apiKey, onClose }: { apiKey: KeyView; onClose: () => void }) => (
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
