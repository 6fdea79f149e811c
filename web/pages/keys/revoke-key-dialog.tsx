import { requestJson } from '../../api/request.ts'
import { ConfirmDialog } from '../../components/feedback/confirm-dialog.tsx'

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
      confirm="Revoke the key"
      send={() => requestJson('POST', `${api}/keys/${encodeURIComponent(id)}/revoke`)}
      stale={[isCustomers ? ['operator', 'account'] : ['keys']]}
      done={`The key “${name}” is revoked.`}
      onClose={onClose}
    >
      <p>
        {isCustomers && 'This is a customer’s key. '}
        Calls with <code>{hint}</code> are refused from the next second on, permanently.
        {!isCustomers && ' Put a new key in place first.'}
      </p>
    </ConfirmDialog>
  )
}
