import type { CreatedKey, KeyList, KeyView, NewKeyBody } from '../../../src/core/api/keys.ts'
import { path, requestJson } from '../../api/request.ts'
import { ConfirmDialog, FormDialog, SecretDialog } from '../../components/feedback/dialogs.tsx'
import { AgentSetups, Snippets } from '../../components/text/snippets.tsx'
import { formatMoment } from '../../lib/format.ts'
import { changedSettings, KeyInputs, keyFields, NEW_KEY, valuesOf } from './key-fields.tsx'
import { RunIt } from './run-it.tsx'

const STALE = ['/console/api/keys']

/** Asks for the name and the limits of a new key, and shows its secret once, with a first call to run at once. */
export function NewKeyDialog({ list, onClose }: { list: KeyList; onClose: () => void }) {
  const name = list.data.length === 0 ? 'First key' : ''
  return (
    <FormDialog
      title="Create API key"
      submit="Create key"
      pending="Creating …"
      fields={keyFields({ ...NEW_KEY, name }, list.defaults)}
      send={(values) =>
        requestJson<CreatedKey>('POST', '/console/api/keys', {
          name: '',
          ...changedSettings(values, NEW_KEY),
        } satisfies NewKeyBody)
      }
      stale={STALE}
      then={({ secret, key }, close) => (
        <SecretDialog {...SECRET} title="Save your API key" wide secret={secret} onClose={close}>
          <h3>Make a first call</h3>
          <Snippets apiKey={secret} />
          <RunIt keyId={key.id} />
          <h3>Use it with</h3>
          <AgentSetups apiKey={secret} />
        </SecretDialog>
      )}
      onClose={onClose}
    >
      {(fields) => <KeyInputs {...fields} />}
    </FormDialog>
  )
}

const SECRET = { of: 'the key', copy: 'Copy key', warning: "Copy this key now. We can't show it again." }

/** Changes the settings of a key. */
export function EditKeyDialog({ apiKey, onClose }: { apiKey: KeyView; onClose: () => void }) {
  const before = valuesOf(apiKey)
  const maxima = {
    requests_per_minute: apiKey.operator_requests_per_minute,
    concurrent_calls: apiKey.operator_concurrent_calls,
  }
  return (
    <FormDialog
      title={`Edit “${apiKey.name}”`}
      submit="Save changes"
      fields={keyFields(before, maxima)}
      send={async (values) => {
        const changed = changedSettings(values, before)
        if (Object.keys(changed).length > 0)
          await requestJson<KeyView>('PATCH', path`/console/api/keys/${apiKey.id}`, changed)
      }}
      stale={STALE}
      done="API key saved. The changes apply within a second."
      onClose={onClose}
    >
      {(fields) => <KeyInputs {...fields} />}
    </FormDialog>
  )
}

/** In seconds. */
const GRACE_TIMES = [
  { value: '0', name: 'No more' },
  { value: '3600', name: 'For an hour' },
  { value: '86400', name: 'For a day' },
  { value: '604800', name: 'For seven days' },
]

/** Gives a key a new secret after asking how long the former one stays valid. */
export const RotateSecretDialog = ({ apiKey, onClose }: { apiKey: KeyView; onClose: () => void }) => (
  <FormDialog
    title={`New secret for “${apiKey.name}”?`}
    submit="Create new secret"
    kind="danger"
    fields={{ grace: { label: 'The present secret works', initial: '0', options: GRACE_TIMES } }}
    send={({ grace }) =>
      requestJson<CreatedKey>('POST', path`/console/api/keys/${apiKey.id}/rotate-secret`, {
        grace_seconds: Number(grace),
      })
    }
    stale={STALE}
    then={({ secret, key }, close) => (
      <SecretDialog {...SECRET} title="Save the new secret" secret={secret} onClose={close}>
        <p>
          Replace the former secret in your services:{' '}
          {key.previous_secret_until
            ? `it works until ${formatMoment(key.previous_secret_until)}.`
            : 'it no longer works.'}
        </p>
      </SecretDialog>
    )}
    onClose={onClose}
  >
    <p>
      {apiKey.has_secret
        ? 'Settings, limits and usage of the key stay.'
        : 'The member who made this key left, and their secret no longer works. Settings and usage of the key stay.'}
    </p>
  </FormDialog>
)

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
      stale={isCustomers ? ['/admin/api/accounts/'] : STALE}
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
