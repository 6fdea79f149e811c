import type { PlatformKeyStored, PlatformKeyView, ProviderView } from '../../../../src/core/api/offers.ts'
import { path, requestJson } from '../../../api/request.ts'
import { ConfirmDialog, FormDialog } from '../../../components/feedback/dialogs.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { Facts } from '../../../components/text/values.tsx'
import { formatMoment } from '../../../lib/format.ts'
import { ActorName } from '../actor-name.tsx'
import { OperatorButton } from '../operator-button.tsx'

/** The gateway's own key at a provider: where it is from, and forms to store and remove one. */
export function PlatformKeyPanel({ provider }: { provider: ProviderView }) {
  const { key, credentials } = provider
  if (key.source === 'not_needed')
    return (
      <Panel title="Key" padded>
        <p>
          {credentials
            ? `The gateway signs in at ${CLOUDS[credentials]} with the identity of its machine.`
            : 'This provider needs no key.'}
        </p>
      </Panel>
    )
  return (
    <Panel
      title="Key"
      padded
      actions={
        <span className="row gap-2">
          {key.stored && (
            <OperatorButton
              needs="provider-keys.write"
              size="small"
              dialog={(close) => <RemoveKeyDialog provider={provider} onClose={close} />}
            >
              Remove key
            </OperatorButton>
          )}
          <OperatorButton
            needs="provider-keys.write"
            size="small"
            dialog={(close) => <StoreKeyDialog provider={provider} onClose={close} />}
          >
            {key.stored ? 'Replace key' : 'Add key'}
          </OperatorButton>
        </span>
      }
    >
      <Facts
        rows={{
          'In use': sourceText(key),
          Credentials: credentials && CLOUDS[credentials],
          Stored: key.stored && (
            <>
              <code>…{key.stored.last4}</code>, {formatMoment(key.stored.created_at)}, by{' '}
              <ActorName actor={key.stored.author} />
            </>
          ),
        }}
      />
      {key.stored && key.source !== 'stored' && (
        <p className="text-bad">
          The stored key is not used: the catalog sends calls for this provider to another address than the
          one it was stored for, or the key cannot be decrypted. Replace it.
        </p>
      )}
    </Panel>
  )
}

const CLOUDS = { aws: 'AWS', google: 'Google Cloud', azure: 'Azure' }

function sourceText({ source, variable }: PlatformKeyView): string {
  switch (source) {
    case 'stored':
      return 'the stored key'
    case 'environment':
      return `from the environment (${variable})`
    case 'none':
      return 'none: only customers with their own provider key can use this provider'
    default:
      return ''
  }
}

const CHECKS: Record<PlatformKeyStored['check'], string> = {
  accepted: 'The provider accepts it.',
  payment_required: 'The provider accepts it, but asks for payment.',
  forbidden: 'The provider did not let it list models.',
  unknown: 'The provider could not confirm it.',
}

function StoreKeyDialog({ provider, onClose }: { provider: ProviderView; onClose: () => void }) {
  const { id, name, key } = provider
  return (
    <FormDialog
      title={`${key.stored ? 'Replace' : 'Add'} the key for ${name}`}
      submit="Save key"
      pending="Checking …"
      fields={{
        key: {
          label: 'Key',
          type: 'password',
          hint: 'Checked with the provider first. A key that it rejects is not saved.',
          required: 'Enter a key.',
        },
      }}
      send={(body) => requestJson<PlatformKeyStored>('POST', path`/admin/api/providers/${id}/key`, body)}
      stale={['/admin/api']}
      done={({ check, announced }) =>
        `Key for ${name} saved. ${CHECKS[check]} ${
          announced ? 'Workers use it within a second.' : 'Workers use it once Redis is back.'
        }`
      }
      onClose={onClose}
    >
      <p>
        Calls of all customers use this key at {name}
        {key.source === 'environment' && `, instead of ${key.variable} in the environment`}. It is encrypted
        at rest and never shown again.
      </p>
    </FormDialog>
  )
}

function RemoveKeyDialog({ provider, onClose }: { provider: ProviderView; onClose: () => void }) {
  const { id, name, key } = provider
  return (
    <ConfirmDialog
      title={`Remove the key for ${name}?`}
      confirm="Remove key"
      send={() => requestJson('POST', path`/admin/api/providers/${id}/key/remove`)}
      stale={['/admin/api']}
      done={`Key for ${name} removed.`}
      onClose={onClose}
    >
      <p>
        The stored key is deleted. If {key.variable} is set in the environment, calls use that key again
        within a second. Otherwise {name} serves only customers with their own provider key, and models
        without another provider answer 503.
      </p>
    </ConfirmDialog>
  )
}
