import type { PlatformKeyStored, PoolKeyView, ProviderView } from '../../../../src/core/api/offers.ts'
import { path, requestJson } from '../../../api/request.ts'
import { useAction } from '../../../api/use-change.ts'
import { ConfirmDialog, FormDialog } from '../../../components/feedback/dialogs.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { formatCount, formatMoment } from '../../../lib/format.ts'
import { OperatorButton, OperatorMenu } from '../operator-button.tsx'

const NEEDS = 'provider-keys.write'
const STALE = ['/admin/api']

/** All keys of the gateway at a provider, among which its calls are shared. */
export function KeyPoolPanel({ provider }: { provider: ProviderView }) {
  const { pool } = provider.key
  if (pool.length === 0) return null
  return (
    <Panel
      title="Keys in use"
      actions={
        <OperatorButton
          needs={NEEDS}
          size="small"
          dialog={(close) => <NewPoolKeyDialog provider={provider} onClose={close} />}
        >
          Add another key
        </OperatorButton>
      }
    >
      <DataTable
        caption="Keys of the gateway at this provider"
        rows={pool}
        columns={{
          Name: (key) => <TwoLines second={`…${key.last4}`}>{key.name || key.id}</TwoLines>,
          State: (key) => stateText(key),
          Weight: ({ weight }) => formatCount(weight),
          Limits: (key) => limitsText(key),
          Actions: (key) => <KeyActions provider={provider} poolKey={key} />,
        }}
        numeric={['Weight']}
      />
    </Panel>
  )
}

const HEALTH = { refused: 'refused', 'rate-limited': 'rate limited', 'near-limit': 'near its limit' }

function stateText({ usable, state, health }: PoolKeyView): string {
  if (!usable) return 'cannot be used'
  if (state !== 'active') return state
  return health ? `${HEALTH[health.reason]} until ${formatMoment(health.until)}` : 'active'
}

function limitsText(key: PoolKeyView): string {
  const { requests_per_minute: requests, tokens_per_minute: tokens, usd_per_day, usd_per_month } = key
  const limits = [
    requests !== null && `${formatCount(requests)} requests a minute`,
    tokens !== null && `${formatCount(tokens)} tokens a minute`,
    usd_per_day !== null && `$${formatCount(usd_per_day)} a day`,
    usd_per_month !== null && `$${formatCount(usd_per_month)} a month`,
  ]
  return limits.filter((limit) => limit !== false).join(', ') || 'no limit'
}

function KeyActions({ provider, poolKey }: { provider: ProviderView; poolKey: PoolKeyView }) {
  const { id } = poolKey
  const at = path`/admin/api/providers/${provider.id}/keys/${id}`
  const name = poolKey.name || id
  const isActive = poolKey.state === 'active'
  const drain = useAction({
    send: () => requestJson('PATCH', at, { state: isActive ? 'draining' : 'active' }),
    stale: STALE,
    done: isActive ? `Key ${name} gets no new calls.` : `Key ${name} gets calls again.`,
  })
  return (
    <OperatorMenu
      about={`the key ${name}`}
      actions={[
        {
          name: 'Rotate',
          needs: NEEDS,
          dialog: (close) => <NewPoolKeyDialog provider={provider} inPlaceOf={poolKey} onClose={close} />,
        },
        { name: isActive ? 'Drain' : 'Use again', needs: NEEDS, run: () => drain.run() },
        id !== 'main' && {
          name: 'Remove',
          needs: NEEDS,
          dialog: (close) => (
            <ConfirmDialog
              title={`Remove the key ${name}?`}
              confirm="Remove key"
              send={() => requestJson('POST', `${at}/remove`)}
              stale={STALE}
              done={`Key ${name} removed.`}
              onClose={close}
            >
              <p>
                It is deleted here, and calls use the other keys. Drain it first, so that no call is using it.
              </p>
            </ConfirmDialog>
          ),
        },
      ]}
    />
  )
}

function NewPoolKeyDialog(props: { provider: ProviderView; inPlaceOf?: PoolKeyView; onClose: () => void }) {
  const { provider, inPlaceOf, onClose } = props
  return (
    <FormDialog
      title={
        inPlaceOf ? `Rotate the key ${inPlaceOf.name || inPlaceOf.id}` : `Another key for ${provider.name}`
      }
      submit="Save key"
      pending="Checking …"
      fields={{
        key: { label: 'Key', type: 'password', required: 'Enter a key.' },
        name: { label: 'Name', initial: inPlaceOf?.name ?? '' },
        weight: {
          label: 'Weight',
          initial: String(inPlaceOf?.weight ?? 1),
          hint: 'Its share of the conversations, against the other keys.',
        },
      }}
      send={({ weight, ...body }) =>
        requestJson<PlatformKeyStored>('POST', path`/admin/api/providers/${provider.id}/keys`, {
          ...body,
          weight: Number(weight),
          ...(inPlaceOf && { in_place_of: inPlaceOf.id }),
        })
      }
      stale={STALE}
      done={inPlaceOf ? 'Key saved. The former one gets no new calls.' : 'Key saved.'}
      onClose={onClose}
    >
      <p>
        {inPlaceOf
          ? 'New calls use the new key. Calls that run with the former one end; then remove it.'
          : 'Conversations are shared among the keys of a provider, and each stays with one.'}
      </p>
    </FormDialog>
  )
}
