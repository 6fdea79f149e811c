import type { KeyLimitsRequest, OperatorKey } from '../../../../src/core/api/keys.ts'
import { path, requestJson } from '../../../api/request.ts'
import { FormDialog } from '../../../components/feedback/dialogs.tsx'
import { changedSettings, KeyFields, type KeyValues, keyProblems, NEW_KEY } from '../../keys/key-fields.tsx'

/** Changes the settings of a customer's key. Its rate limits here are those that the operator grants. */
export function EditCustomerKeyDialog({ apiKey, onClose }: { apiKey: OperatorKey; onClose: () => void }) {
  const before = valuesOf(apiKey)
  return (
    <FormDialog
      title={`Edit “${apiKey.name}”`}
      submit="Save changes"
      pending="Saving …"
      initial={before}
      check={(values) => keyProblems(values, undefined, before)}
      send={async (values) => {
        const changed: KeyLimitsRequest = changedSettings(values, before)
        if (Object.keys(changed).length > 0)
          await requestJson<OperatorKey>('POST', path`/admin/api/keys/${apiKey.id}/limits`, changed)
      }}
      stale={['/admin/api/accounts/']}
      done={`API key “${apiKey.name}” saved. The changes apply within a second.`}
      onClose={onClose}
    >
      {(field) => <KeyFields isOwner={false} field={field} maxima={undefined} />}
    </FormDialog>
  )
}

const valuesOf = (key: OperatorKey): KeyValues => ({
  ...NEW_KEY,
  name: key.name,
  limit_usd: key.limit_usd ?? '',
  limit_reset: key.limit_reset,
  expires_at: key.expires_at?.slice(0, '2027-01-31'.length) ?? '',
  requests_per_minute: String(key.requests_per_minute ?? ''),
  concurrent_calls: String(key.concurrent_calls ?? ''),
})
