import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { KeyView } from '../../../src/core/api/keys.ts'
import { requestJson } from '../../api/request.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { showToast } from '../../components/toasts.tsx'

/** Revokes a key after asking. */
export function RevokeKeyDialog({ keyView, onClose }: { keyView: KeyView | null; onClose: () => void }) {
  const client = useQueryClient()
  const revoke = useMutation({
    mutationFn: ({ id }: KeyView) =>
      requestJson<KeyView>('POST', `/console/api/keys/${encodeURIComponent(id)}/revoke`),
    onSuccess: ({ name }) => {
      void client.invalidateQueries({ queryKey: ['keys'] })
      showToast(`The key “${name}” is revoked.`)
      onClose()
    },
  })
  return (
    <ConfirmDialog
      title={`Revoke “${keyView?.name ?? ''}”?`}
      confirm="Revoke the key"
      isOpen={keyView !== null}
      isPending={revoke.isPending}
      error={revoke.error}
      onConfirm={() => keyView && revoke.mutate(keyView)}
      onClose={() => {
        revoke.reset()
        onClose()
      }}
    >
      <p>
        Calls with <code>{keyView?.hint}</code> are refused from the next second on, for good. Put a new key
        in place first.
      </p>
    </ConfirmDialog>
  )
}
