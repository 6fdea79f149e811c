import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ProviderKeyView } from '../../../src/core/api/provider-keys.ts'
import { requestJson } from '../../api/request.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { showToast } from '../../components/toasts.tsx'

/** Removes a provider key after asking. */
export function RemoveProviderKeyDialog(props: { providerKey: ProviderKeyView | null; onClose: () => void }) {
  const { providerKey, onClose } = props
  const client = useQueryClient()
  const remove = useMutation({
    mutationFn: ({ id }: ProviderKeyView) =>
      requestJson('DELETE', `/console/api/provider-keys/${encodeURIComponent(id)}`),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ['provider-keys'] })
      showToast('The provider key is removed.')
      onClose()
    },
  })
  return (
    <ConfirmDialog
      title={`Remove the key for ${providerKey?.provider_name ?? ''}?`}
      confirm="Remove the key"
      isOpen={providerKey !== null}
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => providerKey && remove.mutate(providerKey)}
      onClose={() => {
        remove.reset()
        onClose()
      }}
    >
      <p>Calls to this provider use shared capacity at the listed price from then on.</p>
    </ConfirmDialog>
  )
}
