import type { CreatedKey, KeyList, KeyView, NewKeyBody } from '../../../src/core/api/keys.ts'
import { path, requestJson } from '../../api/request.ts'
import { ConfirmDialog, FormDialog } from '../../components/feedback/dialogs.tsx'
import { changedSettings, KeyFields, keyProblems, NEW_KEY, valuesOf } from './key-fields.tsx'

/** Asks for the name and the limits of a new key. */
export function NewKeyDialog(props: {
  defaults: KeyList['defaults'] | undefined
  onClose: () => void
  onCreated: (key: CreatedKey) => void
}) {
  const { defaults, onClose, onCreated } = props
  return (
    <FormDialog
      title="Create API key"
      submit="Create key"
      pending="Creating …"
      initial={NEW_KEY}
      check={(values) => keyProblems(values, defaults)}
      send={(values) =>
        requestJson<CreatedKey>('POST', '/console/api/keys', {
          name: '',
          ...changedSettings(values, NEW_KEY),
        } satisfies NewKeyBody)
      }
      stale={['/console/api/keys']}
      onDone={onCreated}
      onClose={onClose}
    >
      {(field) => <KeyFields field={field} maxima={defaults} />}
    </FormDialog>
  )
}

/** Changes the settings of a key. */
export function EditKeyDialog({ apiKey, onClose }: { apiKey: KeyView; onClose: () => void }) {
  const before = valuesOf(apiKey)
  const maxima = {
    requests_per_minute: apiKey.max_requests_per_minute,
    concurrent_calls: apiKey.max_concurrent_calls,
  }
  return (
    <FormDialog
      title={`Edit “${apiKey.name}”`}
      submit="Save changes"
      pending="Saving …"
      initial={before}
      check={(values) => keyProblems(values, maxima, before)}
      send={async (values) => {
        const changed = changedSettings(values, before)
        if (Object.keys(changed).length > 0)
          await requestJson<KeyView>('PATCH', path`/console/api/keys/${apiKey.id}`, changed)
      }}
      stale={['/console/api/keys']}
      done="API key saved. The changes apply within a second."
      onClose={onClose}
    >
      {(field) => <KeyFields field={field} maxima={maxima} />}
    </FormDialog>
  )
}

/** Gives a key a new secret after asking, since the former one stops working. */
export function RotateSecretDialog(props: {
  apiKey: KeyView
  onRotated: (key: CreatedKey) => void
  onClose: () => void
}) {
  const { apiKey, onRotated, onClose } = props
  return (
    <ConfirmDialog
      title={`New secret for “${apiKey.name}”?`}
      confirm="Create new secret"
      send={() => requestJson<CreatedKey>('POST', path`/console/api/keys/${apiKey.id}/rotate-secret`)}
      stale={['/console/api/keys']}
      onDone={onRotated}
      onClose={onClose}
    >
      <p>
        {apiKey.has_secret
          ? 'The present secret stops working within a second. Settings and usage of the key stay.'
          : 'The member who made this key left, and their secret no longer works. Settings and usage of the key stay.'}
      </p>
    </ConfirmDialog>
  )
}

/** Revokes a key after asking: one of the account's own, or a customer's under the operators' API. */
export function RevokeKeyDialog(props: {
  apiKey: { id: string; name: string; hint: string }
  isCustomers?: boolean
  onClose: () => void
}) {
  const { apiKey, isCustomers = false, onClose } = props
  const { id, name, hint } = apiKey
  const api = isCustomers ? '/admin/api' : '/console/api'
  return (
    <ConfirmDialog
      title={`Revoke “${name}”?`}
      confirm="Revoke key"
      send={() => requestJson('POST', api + path`/keys/${id}/revoke`)}
      stale={[isCustomers ? '/admin/api/accounts/' : '/console/api/keys']}
      done={`API key “${name}” revoked.`}
      onClose={onClose}
    >
      <p>
        {isCustomers && 'This is a customer’s key. '}
        Requests with <code>{hint}</code> will fail immediately. This can't be undone.
        {!isCustomers && ' Replace the key in your services first.'}
      </p>
    </ConfirmDialog>
  )
}
